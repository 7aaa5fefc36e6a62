"""Turn-taking through the whole server: real WebRTC at one end, a scripted Responder process at the other."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pytest

from backend.media.frame import FRAME_MS
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, RunningServer, placed_call
from tests.support.speech import silence, speech
from tests.support.tones import loudness_db, pitch, sounding_ms
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"
TONE: dict[str, Any] = {"hz": 440, "ms": 1000}
LOUD_DB = -22.0
"""Between the level of the chirp and what is left of it when it is turned down."""
CHIRP: dict[str, Any] = {"from_hz": 400, "to_hz": 2400, "ms": 8000}


def a_turn(reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"turns": [{"hear": QUESTION, "reply": reply, **more}]}


async def received(peer: OfflinePeer, type_: str) -> list[dict[str, Any]]:
    """The client events of a type that the newest connection got."""
    log = (await peer.connections())[-1]
    return [event for event in log["received"] if event["type"] == type_]


def truncations(log: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in log["received"] if event["type"] == "conversation.item.truncate"]


async def ask(call: PlacedCall, words: str = QUESTION) -> None:
    await call.say(silence(200) + speech(words))


async def type_(call: PlacedCall, words: str) -> None:
    path = f"/api/sessions/{call.ticket.session_id}/messages"
    sent = await call.http.post(path, json={"text": words}, headers={"authorization": f"Bearer {call.ticket.token}"})
    sent.raise_for_status()


async def test_a_spoken_question_is_committed_answered_and_heard(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "It is sunny.", "tone": TONE}))
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await call.hears_nothing_for(0.3)
        await call.told("transcript", role="user", content=QUESTION)
        await call.told("transcript", role="assistant", content="It is sunny.")
        heard_ms = sounding_ms(heard.frame for heard in call.audible())
        metrics = (await call.told("turn_metrics")).data
    assert 980 <= heard_ms <= 1000 + CONCEALED_MS
    assert abs(pitch(b"".join(heard.frame for heard in call.audible()[5:45])) - 440) < 15
    legs = ("hangover_ms", "commit_ms", "reply_started_ms", "first_audio_ms", "patience_ms", "played_ms")
    assert sum(metrics[leg] for leg in legs) == metrics["first_sound_ms"]
    assert len(await received(peer, "input_audio_buffer.commit")) == 1


@pytest.mark.alone
async def test_silence_is_never_sent_to_the_responder(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "Yes.", "tone": TONE}))
    async with placed_call(running) as call:
        await call.say(silence(1500))
        assert not await received(peer, "input_audio_buffer.append")
        await ask(call)
        await call.hears_something()
    sent_ms = sum(e["audio_bytes"] for e in await received(peer, "input_audio_buffer.append")) / 48
    spoken_ms = len(speech(QUESTION)) / 48
    assert spoken_ms - 100 < sent_ms < spoken_ms + 300 + 300 + 60  # with pre-roll and post-roll


@pytest.mark.alone
async def test_speech_turns_the_reply_down_at_once(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "A long story " * 20, "chirp": CHIRP}))
    words = speech("no, that is enough now")
    since_speech, since_onset = [], []
    async with placed_call(running) as call:
        await ask(call)
        for _ in range(3):
            await call.hears_something()
            await asyncio.sleep(0.6)
            seen, began = len(call.events), asyncio.get_running_loop().time()
            await call.say(words)
            held = next(n for n in range(seen, len(call.events)) if call.events[n].data.get("floor") == "held")
            down = [heard.at for heard in call.audible() if heard.at > began and loudness_db(heard.frame) < LOUD_DB]
            since_speech.append(down[0] - began)
            since_onset.append(down[0] - call.arrivals[held])
    # The detector needs 40 to 100 ms of a vowel to be sure of an onset. From there it is a frame, and the network.
    assert median(since_onset) < 0.08
    assert min(since_speech) < 0.2


LONG_MS = 6_000
CONCEALED_MS = 200
"""What a busy machine sends too late the caller conceals, which sounds longer."""


async def coughed(call: PlacedCall) -> bool:
    """Cough, and return whether it was heard as a voice: a busy machine may send too little of it in time."""
    await asyncio.sleep(0.5)
    await call.say(speech("uh")[: 48 * 150])
    await asyncio.sleep(0.5)
    return any(told["floor"] == "held" for told in call.all_told("floor"))


async def test_a_cough_resumes_the_reply_with_no_sample_lost(peer: OfflinePeer, running: RunningServer) -> None:
    story_told = {"hear": QUESTION, "reply": {"text": "A story " * 20, "chirp": {**CHIRP, "ms": LONG_MS}}}
    await peer.follow({"turns": [story_told, {"hear": "Uh.", "reply": {"text": "Yes?"}}]})
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await until(lambda: coughed(call), LONG_MS / 1000)
        await call.hears_nothing_for(0.6)
        story = [heard.frame for heard in call.audible()]
        assert not call.all_told("transcript_interrupted")
    assert LONG_MS - 30 <= sounding_ms(story) <= LONG_MS + CONCEALED_MS
    whole = [frame for frame in story if sounding_ms([frame]) == FRAME_MS]  # not those cut by the pause
    pitches = np.array([pitch(first + second) for first, second in pairwise(whole)])
    steps = np.diff(np.convolve(pitches, np.ones(5) / 5, mode="valid"))
    assert steps.max() < 60 and steps.min() > -30, "the rising tone jumped"
    assert await received(peer, "input_audio_buffer.clear")


async def test_truncation_equals_what_the_caller_received(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "one two three four five six", "chirp": CHIRP}))
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await asyncio.sleep(1.0)
        await call.say(speech("stop, that is enough"))
        interrupted = (await call.told("transcript_interrupted")).data
        await call.hears_something()  # the next reply
        log = (await peer.connections())[-1]
        first = [heard for heard in call.audible() if heard.at < call.arrivals[_index(call, "transcript_interrupted")]]
    [cut] = truncations(log)
    assert abs(cut["event"]["audio_end_ms"] - sounding_ms(heard.frame for heard in first)) <= 20
    assert interrupted["content"].startswith(interrupted["heard"]) and interrupted["heard"]


def _index(call: PlacedCall, type_: str) -> int:
    return next(n for n, event in enumerate(call.events) if event.type == type_)


async def test_late_audio_of_a_cancelled_reply_is_never_heard(peer: OfflinePeer, running: RunningServer) -> None:
    late = {"text": "A story " * 20, "tone": {"hz": 1000, "ms": 8000}, "pace": 1.2, "late_ms": 600}
    answer = {"text": "Fine.", "tone": {"hz": 300, "ms": 400}}
    await peer.follow({"turns": [{"hear": QUESTION, "reply": late}, {"hear": "stop", "reply": answer}]})
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await asyncio.sleep(0.6)
        await call.say(speech("stop, that is enough"))
        await call.told("transcript_interrupted")
        cut_at = call.arrivals[_index(call, "transcript_interrupted")]
        await call.told("transcript", content="Fine.")
        after = b"".join(heard.frame for heard in call.audible() if heard.at > cut_at + 0.1)
    assert abs(pitch(after) - 300) < 30


async def test_every_tool_call_is_answered_once_whatever_it_says(peer: OfflinePeer, running: RunningServer) -> None:
    calls = [
        {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "how high is the Eiffel tower"}},
        {"name": "route_to_thinker", "arguments": "{not json"},
        {"name": "no_such_tool", "arguments": "{}"},
        {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": ""}},
    ]
    script = a_turn({"calls": calls}, after_results=[{"text": "Here it is.", "tone": TONE}])
    await peer.follow(script | {"chat": [{"text": "It is 330 metres high."}]})
    async with placed_call(running) as call:
        await ask(call)
        await call.told("transcript", content="Here it is.")
    sent = [e["event"]["item"] for e in await _whole(peer) if e["type"] == "conversation.item.create"]
    outputs = [item for item in sent if item["type"] == "function_call_output"]
    assert set(Counter(item["call_id"] for item in outputs).values()) == {1} and len(outputs) == 4
    good = [item for item in outputs if "330" in item["output"]]
    assert len(good) == 1 and all("error" in json.loads(item["output"]) for item in outputs if item not in good)
    assert len(await received(peer, "response.create")) == 2


async def _whole(peer: OfflinePeer) -> list[dict[str, Any]]:
    """The newest connection's client events with their contents."""
    log = (await peer.connections())[-1]
    events: list[dict[str, Any]] = log["received"]
    return events


async def test_a_cough_while_a_thinker_works_does_not_lose_its_answer(
    peer: OfflinePeer, running: RunningServer
) -> None:
    ask_knowledge = {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "how deep is the sea"}}
    script = a_turn({"calls": [ask_knowledge]}, after_results=[{"text": "Very deep.", "tone": TONE}])
    await peer.follow(script | {"chat": [{"text": "Eleven kilometres.", "delay_ms": 1500}]})
    async with placed_call(running) as call:
        await ask(call)
        await call.told("thinker", event="working")
        await call.say(speech("uh")[: 48 * 150])
        await call.told("thinker", event="complete")
        await call.told("transcript", content="Very deep.")


def slow_question(meanwhile: str) -> dict[str, Any]:
    """A question whose Thinker takes three seconds and a half, in which the caller says something else."""
    ask_knowledge = {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "how deep is the sea"}}
    return {
        "turns": [
            {"hear": QUESTION, "reply": {"calls": [ask_knowledge]}},
            {"hear": meanwhile, "reply": {"text": "All right.", "tone": TONE}},
        ],
        "chat": [{"text": "Eleven kilometres.", "delay_ms": 3500}],
    }


async def test_an_answer_that_comes_after_a_new_turn_is_told_with_what_it_is_about(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow(slow_question("tell me a joke"))
    async with placed_call(running) as call:
        await ask(call)
        await call.told("thinker", event="working")
        await call.say(speech("tell me a joke"))
        await call.told("transcript", within_s=20, content="All right.")
        await call.told("thinker", within_s=20, event="stale")
        await call.told("thinker", within_s=20, event="complete")
        heard = [event["content"] for event in call.all_told("transcript") if event["role"] == "assistant"]
    assert heard[-1] == 'About your question "how deep is the sea": Eleven kilometres.'


async def test_the_answer_to_a_question_that_was_called_off_is_not_told(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow(slow_question("never mind"))
    async with placed_call(running) as call:
        await type_(call, QUESTION)  # said by a caller who is late, it may be heard in two pieces, of a turn each
        await call.told("thinker", within_s=20, event="working")
        await call.say(speech("never mind, it is not important"))
        await call.told("transcript", within_s=20, content="All right.")
        await call.told("thinker", within_s=20, event="cancelled")
        asked_for = len(await received(peer, "response.create"))
        await asyncio.sleep(4)
        assert len(await received(peer, "response.create")) == asked_for
        items = await received(peer, "conversation.item.create")
        said = [data["content"] for data in call.all_told("transcript")]
    submitted = [item for item in items if item["event"]["item"]["type"] == "function_call_output"]
    assert "cancelled" in submitted[-1]["event"]["item"]["output"]
    assert not [words for words in said if "Eleven kilometres" in words]


async def test_refused_replies_are_asked_for_until_they_come(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "At last.", "tone": TONE}) | {"refuse_replies": 3})
    async with placed_call(running) as call:
        await ask(call)
        await call.told("transcript", content="At last.")


async def test_a_reply_that_fails_twice_is_apologised_for_aloud(peer: OfflinePeer, running: RunningServer) -> None:
    failing = {"status": "failed", "status_details": {"error": {"code": "server_error"}}}
    await peer.follow(a_turn(failing) | {"fallback": failing})
    async with placed_call(running) as call:
        await ask(call)
        await call.told("error")
        await call.hears_something()


async def test_a_line_that_drops_in_mid_reply_is_restored_and_goes_on(
    peer: OfflinePeer, running: RunningServer
) -> None:
    first = a_turn({"text": "A story " * 9, "tone": {"hz": 500, "ms": 4000}, "pace": 1, "drop_after_ms": 600})
    second = a_turn({"text": "Yes.", "tone": TONE}) | {"fallback": {"text": "As I was saying.", "tone": TONE}}
    await peer.follow({"connections": [first, second]})
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        await call.told("error")
        await call.told("transcript", role="assistant", within_s=10)
        await call.hears_nothing_for(0.3)
        await ask(call, "and what about tomorrow")
        await call.told("transcript", content="Yes.", within_s=10)


async def test_a_dead_responder_ends_the_call_with_a_word(peer: OfflinePeer, running: RunningServer) -> None:
    fatal = {"code": "insufficient_quota", "message": "no money", "fatal": True}
    await peer.follow(a_turn({"error": fatal}))
    async with placed_call(running) as call:
        await ask(call)
        await call.hears_something()
        ended = await call.told("session_ended", within_s=10)
    assert ended.data["reason"] == "responder_refused"


async def test_typed_text_is_answered_in_the_same_conversation(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "You typed.", "tone": TONE}}]})
    async with placed_call(running) as call:
        headers = {"Authorization": f"Bearer {call.ticket.token}"}
        path = f"/api/sessions/{call.ticket.session_id}"
        answer = await call.http.post(f"{path}/messages", json={"text": "hello"}, headers=headers)
        assert answer.status_code == 202
        await call.told("transcript", content="You typed.")
        transcript = (await call.http.get(f"{path}/transcript", headers=headers)).json()["messages"]
    assert [(m["role"], m["content"]) for m in transcript] == [("user", "hello"), ("assistant", "You typed.")]


async def test_the_websocket_carries_the_same_conversation(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "It is sunny.", "tone": TONE}))
    async with placed_call(running, transport="ws") as call:
        await ask(call)
        await call.told("transcript", content="It is sunny.")
    assert abs(len(call.audible()) * FRAME_MS - 1000) <= 40


async def test_hanging_up_ends_the_session_and_says_so(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(a_turn({"text": "It is sunny.", "tone": TONE}))
    async with placed_call(running) as call:
        path = f"/api/sessions/{call.ticket.session_id}"
        await call.caller.close()
        ended = await call.told("session_ended", within_s=12)
        described = await call.http.get(path, headers={"Authorization": f"Bearer {call.ticket.token}"})
    assert ended.data["reason"] == "disconnected"
    assert described.json()["state"] == "ended"


async def test_twenty_calls_leave_nothing_behind(peer: OfflinePeer, running: RunningServer) -> None:
    import psutil

    server = psutil.Process(running.pid)
    await peer.follow(a_turn({"text": "Yes.", "tone": TONE}))

    async def one() -> None:
        async with placed_call(running) as call:
            await call.say(silence(100))

    await asyncio.gather(*(one() for _ in range(4)))
    await until(lambda: not server.net_connections("udp"), 15)

    def held() -> int:
        """Open files and sockets, but for those to Redis: how many its pool keeps depends on how busy it was."""
        return int(server.num_fds()) - len(server.net_connections("unix"))

    before = (held(), server.num_threads())
    for _ in range(5):
        await asyncio.gather(*(one() for _ in range(4)))
    await until(lambda: not server.net_connections("udp"), 15)
    await until(lambda: held() <= before[0] + 2, 15)
    assert server.num_threads() <= before[1] + 2
