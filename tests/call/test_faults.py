"""A call goes on while Redis is frozen or dead, and with the turn detection of the provider; all processes are real."""

import asyncio
import signal
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import psutil
import pytest

from backend.storage.client import connect
from tests.support.first_sound import reply_sounds
from tests.support.offline_peer import OfflinePeer
from tests.support.processes import child
from tests.support.running_server import PlacedCall, RunningServer, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

QUESTION = "what is the weather in Seattle"
TONE: dict[str, Any] = {"hz": 440, "ms": 200}
STORY: dict[str, Any] = {"text": "A long story " * 20, "tone": {"hz": 400, "to_hz": 2400, "ms": 8000}}


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer, REDIS_AS_SHIPPED="1") as running:
        yield running


def a_turn(text: str) -> dict[str, Any]:
    return {"hear": QUESTION, "reply": {"text": text, "tone": TONE}}


async def ask(call: PlacedCall, words: str = "hello there") -> None:
    await call.say(silence(100) + speech(words))


async def answered(call: PlacedCall, times: int) -> list[int]:
    """Ask a question aloud several times; return the time to first sound of each answer in milliseconds."""
    for _ in range(times):
        before = len(call.events_of("turn_metrics"))
        replies = len(call.events_of("audio_playback_finished"))
        await ask(call)
        await until(lambda n=before: len(call.events_of("turn_metrics")) > n)  # type: ignore[misc]
        await until(lambda n=replies: len(call.events_of("audio_playback_finished")) > n)  # type: ignore[misc]
    return [int(legs["first_sound_ms"]) for legs in call.events_of("turn_metrics")[-times:]]


# --- memory -------------------------------------------------------------------------------------------


def redis_of(server: RunningServer) -> psutil.Process:
    return child(server.pid, "redis-server")


async def remembered(server: RunningServer, call: PlacedCall) -> int:
    """Return how many messages of this call are in Redis."""
    redis = connect(f"unix://{server.folder}/var/redis/redis.sock")
    try:
        keys = await redis.keys(f"user:*:conversation:{call.ticket.conversation_id}")
        return sum([await redis.llen(key) for key in keys])
    finally:
        await redis.aclose()


@pytest.mark.alone
async def test_a_frozen_redis_delays_no_answer_and_gets_later_messages(
    peer: OfflinePeer, server: RunningServer
) -> None:
    await peer.follow({"turns": [a_turn("Yes.")]})
    redis = redis_of(server)
    async with placed_call(server) as call:
        before = await answered(call, 3)
        await until(lambda: _holds(server, call, 6))
        redis.send_signal(signal.SIGSTOP)
        try:
            frozen = await answered(call, 3)
            async with asyncio.timeout(8), placed_call(server, transport="ws") as newcomer:
                await answered(newcomer, 1)
            assert "Redis does not answer" in (await call.http.get("/readyz")).text
        finally:
            redis.send_signal(signal.SIGCONT)
        await asyncio.sleep(1.5)  # the breaker lets one probe through each second
        await answered(call, 1)
        kept = await remembered(server, call)
        await until(lambda: _holds(server, call, 8))
    assert statistics.median(frozen) <= 1.5 * statistics.median(before) + 50, (before, frozen)
    assert kept >= 6


async def _holds(server: RunningServer, call: PlacedCall, count: int) -> bool:
    return await remembered(server, call) >= count


async def _has_memory(call: PlacedCall) -> bool:
    return bool((await call.http.get("/readyz")).json()["checks"]["memory"] == "ok")


async def test_a_call_survives_the_death_of_redis_and_is_stored_again(peer: OfflinePeer, server: RunningServer) -> None:
    await peer.follow({"turns": [a_turn("Yes.")]})
    redis = redis_of(server)
    async with placed_call(server) as call:
        await answered(call, 1)
        redis.kill()
        await answered(call, 1)
        await until(partial(_has_memory, call), 30)
        await answered(call, 1)
        await until(lambda: _holds(server, call, 4))
        assert not call.events_of("error")


# --- turn detection -----------------------------------------------------------------------------------


async def test_the_turn_detection_of_the_provider_finds_turns_and_interruptions(peer: OfflinePeer) -> None:
    stop = {"hear": "stop", "reply": {"text": "All right.", "tone": TONE}}
    await peer.follow({"turns": [{"hear": QUESTION, "reply": STORY}, stop]})
    with running_server(peer, VAD__ENABLED="false") as server:
        async with placed_call(server) as call:
            assert call.events_of("session_started")[0]["hearing"] == "provider"
            await ask(call, QUESTION)
            await reply_sounds(call)
            await asyncio.sleep(0.5)
            await ask(call, "stop, that is enough")
            [interrupted] = [await call.event("transcript_interrupted")]
            await call.event("transcript", content="All right.")
        log = (await peer.connections())[-1]
    update = next(event["event"] for event in log["received"] if event["type"] == "session.update")
    assert update["session"]["audio"]["input"]["turn_detection"]["type"] == "semantic_vad"
    types = [event["type"] for event in log["received"]]
    assert "input_audio_buffer.commit" not in types, "the server committed, too"
    assert types.count("response.create") == 2 and types.count("conversation.item.truncate") == 1
    assert STORY["text"].startswith(interrupted.data["heard"])
