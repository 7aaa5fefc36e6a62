"""A picture of a recording for the documents, written only when UPDATE_SCREENSHOTS=1 is set."""

from __future__ import annotations

from pathlib import Path

from tests.browser.test_screenshots import IMAGES, pytestmark  # noqa: F401 - it marks the test below
from tests.support.browser import chromium
from tests.support.microphone import WEATHER, microphone_wav
from tests.support.real_server import real_server


async def test_a_recording_in_pictures(tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 5.0, WEATHER, 60.0)
    async with real_server(RECORDING__ENABLED="true") as url, chromium(speaks=wav, size=(800, 760)) as tab:
        await tab.open(url)
        await tab.connect()
        await tab.press("recording-agree")
        answer = tab.page.locator("[data-testid=entry-assistant][data-state=final]").filter(has_text="feels like")
        await answer.wait_for(timeout=40_000)
        await tab.sees("floor", "Listening", 20_000)
        await tab.press("connect")
        await tab.press("listen-recording")
        await tab.page.locator(".said-line.assistant").last.click()
        await tab.page.wait_for_function("() => document.querySelectorAll('.said-words .now').length > 0")
        await tab.page.get_by_test_id("recordings").screenshot(path=IMAGES / "player.png")
