"""Calls where no UDP gets through, with nothing stood in for: Chromium, a spoken question, the whole server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import chromium
from tests.support.microphone import UNIVERSE, WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.alone]

SOONER = """(() => {
  const wait = window.setTimeout;
  window.setTimeout = (run, ms, ...rest) => wait(run, ms === 8000 ? 1000 : ms, ...rest);
})();"""
"""The eight seconds that WebRTC has to come up, for a browser that may not use UDP at all."""
NO_UDP = ["--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy"]
LOUD = "() => Number(document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow) > 30"
WHILE_CONNECTING_S = 7.0
INTO_THE_ANSWER_S = 4.5
"""From the end of the question; the answer is spoken from about 1 s to 9 s after it."""


async def test_a_spoken_question_is_answered_aloud_and_interrupted(tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", WHILE_CONNECTING_S, WEATHER, INTO_THE_ANSWER_S, UNIVERSE, 60.0)
    async with real_server() as url, chromium(speaks=wav, more=NO_UDP) as tab:
        await tab.page.add_init_script(SOONER)
        await tab.open(url)
        await tab.press("connect")
        await tab.sees("state", "Connected, over a WebSocket")
        await tab.sees("entry-user", "What's the weather in Seattle?", 30_000)
        await tab.page.locator("[data-testid=entry-assistant][data-state=interrupted] s").wait_for(timeout=30_000)
        await tab.sees("entry-user", "How old is the universe", 30_000)
        await tab.page.locator("[data-testid=presence][data-floor=assistant]").wait_for()
        await tab.page.wait_for_function(LOUD)
        await tab.press("connect")
        await tab.sees("state", "Call ended")
        turns = [(role, state) for role, state, _ in await tab.transcript()]
        assert turns.index(("assistant", "interrupted")) < turns.index(("user", "final"), 1)
