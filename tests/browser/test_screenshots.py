"""Pictures of a real call for the documents, written only when UPDATE_SCREENSHOTS=1 is set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_returning import ask, connect_silently
from tests.support.browser import Tab, chromium
from tests.support.microphone import UNIVERSE, WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.environ.get("UPDATE_SCREENSHOTS") != "1", reason="set UPDATE_SCREENSHOTS=1 to write them"),
]
IMAGES = Path(__file__).parents[2] / "docs" / "images"


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("page-dark.png", {"scheme": "dark", "size": (1440, 900)}),
        ("page-light.png", {"scheme": "light", "size": (1440, 900)}),
        ("page-phone.png", {"scheme": "dark", "size": (390, 844)}),
    ],
)
async def test_a_call_in_pictures(name: str, look: dict[str, Any], tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 3.0, WEATHER, 4.5, UNIVERSE, 60.0)
    async with real_server() as url, chromium(speaks=wav, **look) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.page.locator("[data-state=interrupted]").wait_for(timeout=30_000)
        await tab.sees("entry-user", "How old is the universe", 20_000)
        await tab.sees("floor", "Speaking")
        await tab.page.locator("[data-testid=thinker][data-domain=knowledge][data-state=complete]").wait_for(
            state="attached"
        )
        await tab.loudness(1.0)
        IMAGES.mkdir(parents=True, exist_ok=True)
        await tab.screenshot(IMAGES / name)


async def test_what_developers_and_operators_see_in_pictures(tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 3.0, WEATHER, 9.0, UNIVERSE, 60.0)
    async with (
        real_server(ADMIN_TOKEN="a token for pictures") as url,
        chromium(speaks=wav, complaints="expected") as tab,
    ):
        await tab.open(url)
        await tab.press("open-drawer")
        await tab.connect()
        await tab.sees("entry-user", "How old is the universe", 40_000)
        await tab.page.locator("[data-testid=thinker][data-domain=knowledge][data-state=complete]").wait_for(
            state="attached"
        )
        await tab.sees("floor", "Speaking")
        await tab.screenshot(IMAGES / "drawer.png")
        await tab.press("open-drawer")
        turn = tab.page.get_by_test_id("turns").get_by_role("button").last
        await turn.click()
        await tab.page.get_by_test_id("turn").locator("summary").click()
        await tab.page.set_viewport_size({"width": 1440, "height": 1400})
        place = await tab.page.get_by_test_id("waterfall").bounding_box()
        assert place is not None
        x, y, width, height = (place[side] for side in ("x", "y", "width", "height"))
        around = {"x": x - 16, "y": y - 12, "width": width + 32, "height": height + 24}
        await tab.page.screenshot(path=IMAGES / "waterfall.png", clip=around)  # type: ignore[arg-type]
        await operators_view(tab, url)


async def operators_view(tab: Tab, url: str) -> None:
    """A picture of the admin page while the call lasts."""
    admin = Tab(await tab.page.context.new_page())
    await admin.page.set_viewport_size({"width": 1440, "height": 1000})
    await admin.page.goto(f"{url}/admin")
    await admin.page.get_by_test_id("token").fill("a token for pictures")
    await admin.page.keyboard.press("Enter")
    await admin.sees("sessions", "webrtc")
    await admin.screenshot(IMAGES / "admin.png")


async def test_a_shared_link_in_pictures() -> None:
    async with real_server() as url, chromium(microphone="refused", size=(800, 760)) as tab:
        await tab.open(url)
        await connect_silently(tab)
        await ask(tab, "What's the weather in Seattle?", "In Seattle it is")
        await tab.press("share")
        await tab.press("share-create")
        await tab.sees("share-said", "The link works now.")
        await tab.page.get_by_test_id("sharing").screenshot(path=IMAGES / "sharing.png")
