"""Gemini's Live API, against a strict peer over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import Purpose
from backend.errors import ResponderUnavailable
from backend.media.downsample import Downsampler
from backend.media.frame import FRAME_BYTES, FRAME_SAMPLES, Frame
from backend.responders.base import Briefing, PastMessage, ToolSchema
from backend.responders.gemini import GeminiEndpoint, GeminiResponder, connect_gemini
from backend.responders.gemini_codec import GeminiCodec
from demo.gemini.peer import GeminiPeer, ScriptedReply, gemini_peer
from demo.gemini.schema import parse
from tests.support.waiting import until

TOOL = ToolSchema("ask", "Ask a specialist.", {"type": "object", "properties": {"q": {"type": "string"}}})
BRIEFING = Briefing("be kind", (TOOL,))
SPEECH = Frame(b"\x10\x00" * (FRAME_BYTES // 2))


class Line:
    """A call's connection, with what it reported."""

    def __init__(self, responder: GeminiResponder) -> None:
        self.responder = responder
        self.events: list[ev.Event] = []
        self.failure: ResponderUnavailable | None = None

    async def listen(self) -> None:
        try:
            await self.responder.receive_events(self.events.append)
        except ResponderUnavailable as error:
            self.failure = error

    def all(self, kind: type[ev.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def ask(self, number: int) -> ev.ReplyFinished:
        """Take a turn of ten frames, and wait for the end of its reply."""
        for _ in range(10):
            self.responder.send_audio(SPEECH)
        self.responder.send(do.CommitInput())
        self.responder.send(do.CreateReply(Purpose.ANSWER, f"answer-{number}"))
        await until(lambda: len(self.all(ev.ReplyFinished)) >= number)
        end: ev.ReplyFinished = self.all(ev.ReplyFinished)[-1]
        return end


@asynccontextmanager
async def line(
    *replies: ScriptedReply, history: tuple[PastMessage, ...] = ()
) -> AsyncIterator[tuple[Line, GeminiPeer]]:
    async with gemini_peer(*replies) as peer:
        endpoint = GeminiEndpoint(peer.url, "k", "gemini-live", "Kore")
        made = Line(await connect_gemini(endpoint, BRIEFING, history))
        listening = asyncio.create_task(made.listen())
        try:
            yield made, peer
            assert peer.refused == []
        finally:
            await made.responder.close()
            await listening


async def test_a_turn_is_transcribed_and_answered_under_its_request() -> None:
    async with line(ScriptedReply(hear="hello", text="Hi there.", sound_ms=300)) as (made, _):
        end = await made.ask(1)
        assert [event.request for event in made.all(ev.ReplyStarted)] == ["answer-1"]
        assert sum(len(event.pcm) for event in made.all(ev.ReplyAudio)) == 300 * 48
        assert "".join(event.delta for event in made.all(ev.ReplyText)) == "Hi there."
        assert [event.text for event in made.all(ev.UserTranscribed)] == ["hello"]
        assert len(made.all(ev.InputCommitted)) == len(made.all(ev.MessageFinished)) == 1
        assert (end.status, end.usage.audio_in, end.usage.audio_out, end.audio_sent_ms) == ("completed", 5, 7, 200)


async def test_what_was_said_before_is_put_back() -> None:
    history = (PastMessage("user", "I am Ada."), PastMessage("assistant", "Hello Ada."))
    async with line(history=history) as (made, peer):
        await made.ask(1)
        [session] = peer.sessions.values()
        assert [(said.role, said.parts[0].text) for said in session.contents] == [
            ("user", "I am Ada."),
            ("model", "Hello Ada."),
        ]


async def test_only_a_cancelled_reply_is_interrupted_by_the_callers_voice() -> None:
    async with line(ScriptedReply(text="A story.", sound_ms=60_000, pace=1)) as (made, peer):
        asking = asyncio.create_task(made.ask(1))
        await until(lambda: bool(made.all(ev.ReplyAudio)))
        before = len(peer.received)
        made.responder.send_audio(SPEECH)  # a cough, so far
        await asyncio.sleep(0.05)
        assert len(peer.received) == before and not made.all(ev.ReplyFinished)
        made.responder.send(do.CancelReply(made.all(ev.ReplyStarted)[0].reply))
        assert (await asking).status == "cancelled"
        assert (await made.ask(2)).status == "completed"


async def test_parallel_calls_come_before_the_end_and_are_each_answered() -> None:
    calls = [("ask", {"q": str(number)}) for number in range(3)]
    async with line(ScriptedReply(text="Moment.", sound_ms=100, calls=calls)) as (made, peer):
        end = await made.ask(1)
        called = made.all(ev.ToolCalled)
        assert [json.loads(call.arguments)["q"] for call in called] == ["0", "1", "2"]
        assert made.events.index(called[-1]) < made.events.index(end)
        for call in called:
            made.responder.send(do.SubmitResult(call.call, '{"answer": "4"}'))
        made.responder.send(do.CreateReply(Purpose.RESULT, "result-2"))
        await until(lambda: len(made.all(ev.ReplyFinished)) == 2)
        assert [*peer.sessions.values()][-1].results == [call.call for call in called]
        assert made.all(ev.ReplyStarted)[-1].request == "result-2"


async def test_the_end_of_a_connection_is_crossed_with_all_that_was_said() -> None:
    reply = ScriptedReply(text="Still here.", sound_ms=500, pace=0.2, go_away="50s")
    async with line(reply) as (made, peer):
        assert (await made.ask(1)).audio_received_ms == 500
        await until(lambda: peer.connections == 2)
        for number in (2, 3):
            assert (await made.ask(number)).status == "completed"
        assert made.failure is None and peer.connections == 2
        setups = [message.setup for _, message in peer.received if message.setup]
        assert [setup.session_resumption and setup.session_resumption.handle for setup in setups] == [None, "handle-0"]
        assert len({id(session) for session in peer.sessions.values()}) == 1


async def test_what_is_said_while_crossing_arrives_over_the_next_connection() -> None:
    async with line(ScriptedReply(text="Hi.", sound_ms=100, go_away="50s")) as (made, peer):
        peer.resumes_in_s = 0.3
        await made.ask(1)
        await until(lambda: "crossing" in repr(made.responder))
        assert (await made.ask(2)).audio_sent_ms == 200
        ends = [
            number
            for number, message in peer.received
            if message.realtime_input and message.realtime_input.activity_end
        ]
        assert ends == [1, 2]


async def test_a_connection_that_cannot_be_left_in_time_counts_as_broken() -> None:
    async with line(ScriptedReply(text="A story.", sound_ms=60_000, pace=1, go_away="2.1s")) as (made, _):
        asking = asyncio.create_task(made.ask(1))
        await until(lambda: made.failure is not None)
        asking.cancel()
        assert made.failure and made.failure.retryable


async def test_new_instructions_come_over_a_resumed_connection() -> None:
    async with line() as (made, peer):
        await made.ask(1)
        made.responder.brief(Briefing("be brief"))
        await until(lambda: peer.connections == 2)
        await made.ask(2)
        last = [message.setup for _, message in peer.received if message.setup][-1]
        assert last and last.system_instruction and last.system_instruction.parts[0].text == "be brief"


# --- the strictness of the peer ----------------------------------------------------------------------


def setup_message() -> dict[str, Any]:
    codec = GeminiCodec("m", "v")
    codec.briefing = BRIEFING
    message: dict[str, Any] = json.loads(codec.setup())
    return message


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every object in a message, free ones aside."""
    found: list[tuple[Any, ...]] = []
    if isinstance(value, dict) and "parametersJsonSchema" not in at:
        found = [at, *(place for name, each in value.items() for place in places(each, (*at, name)))]
    elif isinstance(value, list):
        found = [place for number, each in enumerate(value) for place in places(each, (*at, number))]
    return found


@pytest.mark.parametrize("place", places(setup_message()), ids=str)
def test_a_field_too_many_anywhere_is_refused(place: tuple[Any, ...]) -> None:
    message = setup_message()
    parse(json.dumps(message))
    target: Any = message
    for step in place:
        target = target[step]
    target["surprise"] = 1
    with pytest.raises(msgspec.ValidationError, match="surprise"):
        parse(json.dumps(message))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"realtimeInput": {"audio": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}},
        {"clientContent": {"turns": [{"role": "system", "parts": [{"text": "hi"}]}]}},
        {"toolResponse": {"functionResponses": [{"id": "c", "name": "n", "response": "4"}]}},
        {"clientContent": {}, "realtimeInput": {}},
    ],
)
def test_a_wrong_message_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        parse(json.dumps(wrong))


# --- the sample rate ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("hz", "kept"), [(440, True), (3000, True), (11_000, False)])
def test_speech_is_kept_at_16_khz_and_what_lies_above_is_not(hz: int, kept: bool) -> None:
    wave = (8000 * np.sin(2 * np.pi * hz * np.arange(50 * FRAME_SAMPLES) / 24_000)).astype("<i2").tobytes()
    downsampler = Downsampler()
    made = b"".join(downsampler.take(Frame(wave[at : at + FRAME_BYTES])) for at in range(0, len(wave), FRAME_BYTES))
    samples = np.frombuffer(made, "<i2")[100:]
    assert len(made) == 16_000 * 2
    loudness = float(np.sqrt(np.mean(samples.astype(float) ** 2)))
    if kept:
        assert loudness == pytest.approx(8000 / 2**0.5, rel=0.05)
        assert np.argmax(np.abs(np.fft.rfft(samples))) / len(samples) * 16_000 == pytest.approx(hz, abs=2)
    else:
        assert loudness < 100
