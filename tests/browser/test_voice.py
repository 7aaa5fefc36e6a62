"""Whole calls: Chromium speaks, the real server hears, thinks and answers, and Chromium hears it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.browser import Tab, chromium
from tests.support.microphone import UNIVERSE, WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

QUIET, LOUD = 1e-4, 1e-3
"""Energy of silence and of speech: the demonstration's voice measures about 1e-1, a silent line 1e-9."""
QUIET_WITHIN_S = 1.6
"""The server turns the reply down at once and falls silent after half a second of speech; what the browser has buffered
plays on, and its statistics lag."""
CAP = 4
WHILE_CONNECTING_S = 3.0
SILENT_FOR_S = 3.0
PAUSES_WITHIN_S = 40.0
"""The browser's, after the first utterance; ours when two of its reports, 5 s apart, have told of no lost packet."""
INTO_THE_ANSWER_S = 4.5
"""From the end of the question; the answer is spoken from about 1 s to 9 s after it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[str]:
    async with real_server(SESSION_CAP=str(CAP)) as url:
        yield url


async def calling(tab: Tab, url: str) -> None:
    """Open the page and place a call."""
    await tab.open(url)
    await tab.connect()
    await tab.sees("floor", "Listening")


async def test_a_spoken_question_is_shown_thought_about_and_answered_aloud(server: str, tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "question.wav", WHILE_CONNECTING_S, WEATHER, 60.0)
    async with chromium(speaks=wav) as tab:
        await calling(tab, server)
        assert await tab.loudness(1.0) < QUIET
        await tab.sees("entry-user", "What's the weather in Seattle?")
        await tab.sees("thinker", "Answered")
        await tab.loud_within(10, LOUD)
        await tab.sees("transcript", "In Seattle it is")
        card = await tab.text("thinker")
        assert "Weather" in card
        assert "live data" in card
        await tab.sees("metrics-total", "ms")
        assert (await tab.heard()).concealed_share < 0.2
        assert [row[0] for row in await tab.transcript()][:2] == ["user", "assistant"]


async def test_next_to_nothing_is_sent_either_way_while_nobody_speaks(server: str, tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "nothing.wav", 60.0)
    async with chromium(speaks=wav) as tab:
        await calling(tab, server)
        async with asyncio.timeout(PAUSES_WITHIN_S):
            while True:
                before = (await tab.heard()).counters
                await asyncio.sleep(SILENT_FOR_S)
                after = (await tab.heard()).counters
                rates = [(after[name] - before[name]) / SILENT_FOR_S for name in ("packetsSent", "packetsReceived")]
                if all(0 < rate < 8 for rate in rates):
                    break
        await tab.page.get_by_role("button", name="What's the weather in Seattle?").click()
        await tab.loud_within(10, LOUD)
        await tab.sees("transcript", "In Seattle it is")
        assert (await tab.heard()).concealed_share < 0.1


@pytest.mark.alone
async def test_speaking_over_the_answer_silences_it_and_shows_what_was_cut(server: str, tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "twice.wav", WHILE_CONNECTING_S, WEATHER, INTO_THE_ANSWER_S, UNIVERSE, 60.0)
    async with chromium(speaks=wav) as tab:
        await calling(tab, server)
        await tab.watch()
        await tab.page.locator("[data-testid=entry-assistant][data-state=interrupted] s:not(:empty)").wait_for()
        await tab.sees("entry-user", "How old is the universe")
        assert await tab.quiet_after_hold(QUIET) < QUIET_WITHIN_S
        await tab.loud_within(10, LOUD)
        turns = [(role, state) for role, state, _ in await tab.transcript()]
        assert turns.index(("assistant", "interrupted")) < turns.index(("user", "final"), 1)


async def test_a_typed_question_is_answered_aloud_without_a_microphone(server: str) -> None:
    async with chromium(microphone="refused") as tab:
        await tab.open(server)
        await tab.press("connect")
        await tab.press("way-type")
        await tab.sees("floor", "Listening")
        await tab.page.get_by_role("button", name="What's the weather in Seattle?").click()
        await tab.sees("entry-user", "What's the weather in Seattle?")
        await tab.sees("transcript", "In Seattle it is")
        await tab.loud_within(10, LOUD)
        await tab.press("connect")
        await tab.sees("state", "Call ended")
        await tab.page.get_by_test_id("notice").wait_for(state="hidden")


async def test_a_full_server_says_so_in_its_own_words(server: str) -> None:
    async with chromium(complaints="expected") as tab:
        await tab.open(server)
        reserved = [await tab.page.request.post(f"{server}/api/sessions", data={}) for _ in range(CAP)]
        await tab.press("connect")
        await tab.sees("notice", "All lines are busy.")
        await tab.sees("way-retry", "Try again in")
        # some lines may still have been taken by the calls before
        for session in [(await answer.json())["session_id"] for answer in reserved if answer.ok]:
            await tab.page.request.delete(f"{server}/api/sessions/{session}")
