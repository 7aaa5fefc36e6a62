"""Turn-taking through the whole server, between real WebRTC and a scripted Responder process."""

import asyncio
import os
from typing import Any

import pytest

from tests.support.first_sound import reply_sounds
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, RunningServer, placed_call
from tests.support.speech import silence, speech
from tests.support.tones import pitch, sounding_ms
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

QUESTION = "what is the weather in Seattle"
TONE: dict[str, Any] = {"hz": 440, "ms": 1000}
CHIRP: dict[str, Any] = {"hz": 400, "to_hz": 2400, "ms": 8000}


def a_turn(reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"turns": [{"hear": QUESTION, "reply": reply, **more}]}


async def received(peer: OfflinePeer, type_: str) -> list[dict[str, Any]]:
    """Return the client events of a type that the newest connection got."""
    log = (await peer.connections())[-1]
    return [event for event in log["received"] if event["type"] == type_]


def truncations(log: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in log["received"] if event["type"] == "conversation.item.truncate"]


async def ask(call: PlacedCall, words: str = QUESTION) -> None:
    await call.say(silence(200) + speech(words))


async def test_a_spoken_question_is_committed_answered_and_heard(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "It is sunny.", "tone": TONE}))
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await call.hears_nothing_for(0.3)
        await call.event("transcript", role="user", content=QUESTION)
        await call.event("transcript", role="assistant", content="It is sunny.")
        heard_ms = sounding_ms(heard.frame for heard in call.audible())
        metrics = (await call.event("turn_metrics")).data
    assert 980 <= heard_ms <= 1000 + CONCEALED_MS
    assert abs(pitch(b"".join(heard.frame for heard in call.audible()[5:45])) - 440) < 15
    legs = ("hangover_ms", "commit_ms", "reply_started_ms", "first_audio_ms", "end_of_turn_ms", "played_ms")
    assert sum(metrics[leg] for leg in legs) == metrics["first_sound_ms"]
    assert len(await received(peer, "input_audio_buffer.commit")) == 1


CONCEALED_MS = 200
"""Concealment after late packets of a busy machine makes a reply sound longer by at most this."""


async def test_a_truncation_equals_what_the_caller_received(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "one two three four five six", "tone": CHIRP}))
    async with placed_call(running) as call:
        await ask(call)
        await reply_sounds(call)
        await asyncio.sleep(1.0)
        await call.say(speech("stop, that is enough"))
        interrupted = (await call.event("transcript_interrupted")).data
        await call.hears_something()  # the next reply
        log = (await peer.connections())[-1]
        first = [heard for heard in call.audible() if heard.at < call.arrivals[_index(call, "transcript_interrupted")]]
    [cut] = truncations(log)
    assert abs(cut["event"]["audio_end_ms"] - sounding_ms(heard.frame for heard in first)) <= 20
    assert interrupted["content"].startswith(interrupted["heard"]) and interrupted["heard"]


def _index(call: PlacedCall, type_: str) -> int:
    return next(n for n, event in enumerate(call.events) if event.type == type_)


async def test_twenty_calls_leave_no_file_socket_or_thread(peer: OfflinePeer, running: RunningServer) -> None:
    import psutil

    server = psutil.Process(running.pid)
    await peer.follow(a_turn({"text": "Yes.", "tone": TONE}))

    async def one() -> None:
        async with placed_call(running) as call:
            await call.say(silence(100))

    await asyncio.gather(*(one() for _ in range(4)))
    await until(lambda: not server.net_connections("udp"), 15)

    def held() -> int:
        """Count open files and sockets, except those to Redis, which depend on how busy its pool was."""
        return int(server.num_fds()) - len(server.net_connections("unix"))

    before = (held(), server.num_threads())
    for _ in range(5):
        await asyncio.gather(*(one() for _ in range(4)))
    await until(lambda: not server.net_connections("udp"), 15)
    await until(lambda: held() <= before[0] + 2, 15)
    pool = min(32, (os.cpu_count() or 1) + 4)  # the loop's own threads begin when they are first needed together
    assert server.num_threads() < before[1] + min(pool, 20)
