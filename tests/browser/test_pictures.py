"""Pictures that are dropped, pasted or chosen on the page reach a strict peer of the provider."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_returning import connect_silently
from tests.support.browser import Tab, tab_in
from tests.support.looks import fits_and_is_accessible
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.pictures import png
from tests.support.running_server import RunningServer, running_server
from tests.support.standin import standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
PLACE = b"taken in a secret place"
SCRIPT = {"turns": [{"reply": "Hello."}]}
COPY = """async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  await navigator.clipboard.write([new ClipboardItem({ "image/png": new Blob([bytes], { type: "image/png" }) })]);
}"""


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    with running_peer("--strict", "openai") as running:
        yield running


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer) as running:
        yield running


async def drop(tab: Tab, file: Path) -> None:
    """Dispatch the events of a file that is dragged over the page and dropped."""
    session = await tab.page.context.new_cdp_session(tab.page)
    dragged = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for step in ("dragEnter", "dragOver", "drop"):
        await session.send("Input.dispatchDragEvent", {"type": step, "x": 200, "y": 200, "data": dragged})


async def said(tab: Tab, words: str) -> None:
    await tab.page.get_by_test_id("entry-assistant").filter(has_text=words).first.wait_for()


async def shown(peer: OfflinePeer) -> list[dict[str, Any]]:
    """Return the messages with pictures that the newest connection got."""
    received = [entry["event"] for entry in (await peer.connections())[-1]["received"]]
    items = [event["item"] for event in received if event["type"] == "conversation.item.create"]
    return [item for item in items if any(part["type"] == "input_image" for part in item.get("content", ()))]


async def test_a_picture_can_be_dropped_pasted_and_chosen(
    browser: Browser, peer: OfflinePeer, server: RunningServer, tmp_path: Path
) -> None:
    await peer.follow(SCRIPT)
    large, small = tmp_path / "large.png", tmp_path / "small.png"
    large.write_bytes(png(2600, 1300, noise=bytes(range(251)), comment=PLACE))
    small.write_bytes(png(30, 20))
    async with tab_in(browser, microphone="refused", complaints="expected") as tab:
        tab.page.on("filechooser", lambda _: None)
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.open(server.url)
        await connect_silently(tab)
        await tab.page.get_by_test_id("composer-text").fill("What is this?")
        await drop(tab, large)
        await said(tab, "I have got 1 picture: a JPEG of 1280 by 640.")
        await tab.sees("entry-user", "Picture What is this?")
        await expect(tab.page.get_by_test_id("composer-text")).to_have_value("")

        await tab.page.evaluate(COPY, b64encode(small.read_bytes()).decode())
        await tab.page.get_by_test_id("composer-text").focus()
        await tab.page.keyboard.press("Control+V")
        await said(tab, "I have got 1 picture: a JPEG of 30 by 20.")

        async with tab.page.expect_file_chooser() as choosing:
            await tab.press("show-picture")
        await (await choosing.value).set_files(large)
        await expect(tab.page.get_by_test_id("entry-user")).to_have_count(3)

        [dropped, *_] = await shown(peer)
        picture, words = dropped["content"]
        assert words == {"type": "input_text", "text": "What is this?"}
        sent = b64decode(picture["image_url"].removeprefix("data:image/jpeg;base64,"))
        assert sent.startswith(b"\xff\xd8\xff") and PLACE not in sent and len(sent) <= 400 * 1024

        await drop(tab, Path(__file__))
        await tab.sees("notice", "This file could not be shown.")
        assert not [path for path in server.folder.rglob("*") if path.is_file() and b"image/jpeg" in path.read_bytes()]


async def test_the_button_for_pictures_fits_has_a_name_and_works_by_keyboard(
    browser: Browser, peer: OfflinePeer, server: RunningServer, tmp_path: Path
) -> None:
    await peer.follow(SCRIPT)
    file = tmp_path / "small.png"
    file.write_bytes(png())
    async with tab_in(browser, microphone="refused", complaints="expected") as tab:
        tab.page.on("filechooser", lambda _: None)  # the listener must be there before a chooser opens
        await tab.open(server.url)
        button = tab.page.get_by_role("button", name="Show a picture")
        await expect(button).to_be_visible()
        await fits_and_is_accessible(tab, "with the button for pictures")
        async with tab.page.expect_file_chooser() as choosing:
            await button.press("Enter")
        await (await choosing.value).set_files(file)
        await tab.sees("entry-user", "Picture")
        await said(tab, "I have got 1 picture")
        await drop(tab, Path(__file__))
        await tab.sees("notice", "This file could not be shown.")
        await fits_and_is_accessible(tab, "with a picture, and a file that is none")


async def test_a_model_without_pictures_has_no_button_and_a_drop_is_explained(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "small.png"
    file.write_bytes(png())
    async with standing_in() as stand_in, tab_in(browser, microphone="refused") as tab:
        await tab.open(stand_in.url)
        await tab.page.locator('link[href="styles/drawer.css"]').wait_for(state="attached")  # the whole page is loaded
        await drop(tab, file)
        await tab.sees("notice", "The model in this call cannot see pictures.")
        await expect(tab.page.get_by_test_id("show-picture")).to_be_hidden()
