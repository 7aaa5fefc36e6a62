"""A provider that is away for a while: nobody is hung up on, the wait is filled, and the line comes back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from backend.responders.failover import REST_S
from tests.support.mortal_peer import MortalPeer, mortal_peer
from tests.support.running_server import PlacedCall, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"
SILENCE_MOST_S = 4.0
BACK_WITHIN_S = 2.0


@asynccontextmanager
async def provider(folder: Path, *texts: str) -> AsyncIterator[MortalPeer]:
    """A provider that answers each question with the first of `texts`, the second, and so on, on every connection."""
    turns = [{"hear": QUESTION, "reply": {"text": text, "tone": {"hz": 440, "ms": 300}}} for text in texts]
    async with mortal_peer(folder / "script.json", {"turns": turns}) as peer:
        yield peer


def longest_silence_s(call: PlacedCall, since: float, until_: float) -> float:
    """The longest time between two sounds the caller heard, from one moment to another."""
    heard = [frame.at for frame in call.audible() if since < frame.at < until_]
    return max(later - earlier for earlier, later in pairwise([since, *heard, until_]))


@pytest.mark.alone
@pytest.mark.parametrize("away_s", [8])
async def test_a_line_refused_for_a_while_comes_back_by_itself_and_the_wait_is_never_silent(
    tmp_path: Path, away_s: float
) -> None:
    now = asyncio.get_running_loop().time
    async with provider(tmp_path, "It is sunny.") as line:
        with running_server(line.peer) as server:
            async with placed_call(server) as call:
                await call.say(silence(100) + speech("hello there"))
                await call.told("transcript", 30, content="It is sunny.")
                line.go()
                await call.told("responder_changed", 20, state="lost")
                await call.say(silence(100) + speech("are you still there"))
                asked = now()
                await asyncio.sleep(away_s)
                peer = await line.come()
                back = now()
                await call.told("responder_changed", state="connected")
                assert now() - back < BACK_WITHIN_S
                assert longest_silence_s(call, asked, now()) < SILENCE_MOST_S
                assert call.all_told("responder_changed")[-1]["responder"] == "OpenAI Realtime API"
                await call.told("transcript", content="Sorry, something went wrong. Could you say that again?")
                await call.hears_nothing_for(0.5)
                await call.say(silence(100) + speech("hello there"))
                await until(lambda: _answers(call, "It is sunny.") == 2)
                assert not call.all_told("session_ended")
        assert len(await peer.connections()) == 1


def _answers(call: PlacedCall, text: str) -> int:
    return [data["content"] for data in call.all_told("transcript")].count(text)


@pytest.mark.alone
async def test_who_calls_while_the_provider_is_away_is_spoken_to_and_served_when_it_is_back(tmp_path: Path) -> None:
    now = asyncio.get_running_loop().time
    async with provider(tmp_path, "It is sunny.") as line:
        with running_server(line.peer) as server:
            line.go()
            returning = asyncio.create_task(_come_later(line, 3))
            async with placed_call(server, within_s=30) as call:
                back = await returning
                assert now() - back < BACK_WITHIN_S
                await call.told("responder_changed", state="connected")
                assert _answers(call, "One moment, please.") >= 1
                await call.say(silence(100) + speech("hello there"))
                await call.told("transcript", 30, content="It is sunny.")


async def _come_later(line: MortalPeer, seconds: float) -> float:
    await asyncio.sleep(seconds)
    await line.come()
    return asyncio.get_running_loop().time()


async def test_a_call_whose_line_stays_away_ends_with_a_word_after_the_patience_set(tmp_path: Path) -> None:
    now = asyncio.get_running_loop().time
    async with provider(tmp_path, "It is sunny.") as line:
        with running_server(line.peer, LINE_PATIENCE_S="5") as server:
            async with placed_call(server) as call:
                line.go()
                await call.told("responder_changed", 20, state="lost")
                lost = now()
                await call.told("transcript", within_s=12, content="Sorry, I have lost the line. Please call again.")
                assert now() - lost > 4.5
                assert (await call.told("session_ended")).data["reason"] == "responder_gone"


async def test_a_server_that_never_had_a_provider_is_not_ready_until_there_is_one(tmp_path: Path) -> None:
    async with provider(tmp_path, "It is sunny.") as line:
        line.go()
        with running_server(line.peer) as server:
            async with a_browser(server) as browser:

                async def ready() -> int:
                    return (await browser.get("/readyz")).status_code

                assert await ready() == 503
                await line.come()
                await until(lambda: _is(ready, 200), REST_S + BACK_WITHIN_S)
                line.go()
                await asyncio.sleep(0.5)
                assert await ready() == 200, "what is known is believed for a while"
                await line.come()
                async with placed_call(server) as call:
                    await call.say(silence(100) + speech("hello there"))
                    await call.told("transcript", 30, content="It is sunny.")


async def _is(ask: Callable[[], Awaitable[int]], wanted: int) -> bool:
    return await ask() == wanted
