"""Gemini's Live API, against a strict peer over real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial
from websockets.exceptions import ConnectionClosedError

from backend.errors import ResponderUnavailable
from backend.extensions.gemini.codec import GeminiCodec
from backend.extensions.gemini.responder import GeminiResponder, connect_gemini
from backend.extensions.gemini.settings import GeminiSettings
from backend.media.frame import FRAME_BYTES, Frame
from backend.responders.base import Briefing, ToolSchema
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from tests.extensions.gemini.gemini_peer import GeminiPeer, ScriptedReply, gemini_peer
from tests.support.offline_peer import running_peer
from tests.support.waiting import until

TOOL = ToolSchema("ask", "Ask a specialist.", {"type": "object", "properties": {"q": {"type": "string"}}})
BRIEFING = Briefing("be kind", (TOOL,))
SPEECH = Frame(b"\x10\x00" * (FRAME_BYTES // 2))


class Line:
    """A call's connection and its events."""

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
        """Send a turn of ten frames, and wait for the end of its reply."""
        for _ in range(10):
            self.responder.send_audio(SPEECH)
        self.responder.send(do.CommitInput())
        self.responder.send(do.CreateReply(Purpose.ANSWER, f"answer-{number}"))
        await until(lambda: len(ended(self)) >= number)
        return ended(self)[number - 1]


def ended(made: Line) -> list[ev.ReplyFinished]:
    """The ends of replies; tokens counted later come in a second one."""
    ends: dict[str, ev.ReplyFinished] = {}
    for event in made.all(ev.ReplyFinished):
        ends.setdefault(event.reply, event)
    return [*ends.values()]


@asynccontextmanager
async def line(*replies: ScriptedReply) -> AsyncIterator[tuple[Line, GeminiPeer]]:
    async with gemini_peer(*replies) as peer:
        settings = GeminiSettings.model_validate({"url": peer.url, "api_key": "k"})
        made = Line(await connect_gemini(settings, BRIEFING, ()))
        listening = asyncio.create_task(made.listen())
        try:
            yield made, peer
            assert peer.refused == []
        finally:
            await made.responder.close()
            await listening


async def test_only_a_cancelled_reply_is_interrupted_by_the_callers_voice() -> None:
    async with line(ScriptedReply(text="A story.", sound_ms=60_000, pace=1)) as (made, peer):
        asking = asyncio.create_task(made.ask(1))
        await until(lambda: bool(made.all(ev.ReplyAudio)))
        before = len(peer.received)
        for _ in range(50):
            made.responder.send_audio(SPEECH)
        made.responder.send(do.CommitInput())  # it is not decided yet whether this is a turn
        made.responder.send(do.AddNote("The clock strikes."))
        await asyncio.sleep(0.05)
        assert len(peer.received) == before and not made.all(ev.ReplyFinished)
        made.responder.send(do.CancelReply(made.all(ev.ReplyStarted)[0].reply))
        assert (await asking).status == "cancelled"
        made.responder.send(do.CreateReply(Purpose.ANSWER, "answer-2"))
        await until(lambda: len(ended(made)) == 2)
        assert ended(made)[-1].status == "completed"
        [session] = peer.sessions.values()
        assert "The clock strikes." in session.contents[-1]["parts"][0]["text"]


async def test_late_events_of_a_cancelled_reply_do_not_belong_to_the_next() -> None:
    story = ScriptedReply(text="A story.", sound_ms=60_000, pace=0.05)
    async with line(story, ScriptedReply(text="It is four.", sound_ms=300)) as (made, _):
        asking = asyncio.create_task(made.ask(1))
        await until(lambda: bool(made.all(ev.ReplyAudio)))
        made.responder.send(do.CancelReply(None))
        await asking
        made.responder.send(do.CreateReply(Purpose.RESULT, "result-2"))
        await until(lambda: len(ended(made)) == 2)
        assert (ended(made)[-1].status, ended(made)[-1].audio_received_ms) == ("completed", 300)
        assert [started.request for started in made.all(ev.ReplyStarted)] == ["answer-1", "result-2"]


async def test_a_reply_that_is_cancelled_before_its_first_sound_is_over_immediately() -> None:
    codec = GeminiCodec("m", "v")
    codec.encode(do.CreateReply(Purpose.ANSWER, "answer-1"))
    _, events = codec.encode(do.CancelReply(None))
    started, finished = events
    assert isinstance(started, ev.ReplyStarted) and started.request == "answer-1"
    assert isinstance(finished, ev.ReplyFinished) and finished.status == "cancelled"
    assert codec.encode(do.CancelReply(started.reply)) == ([], [])
    assert codec.idle


async def test_a_reply_is_over_when_it_is_generated_and_its_tokens_are_counted_later() -> None:
    reply = ScriptedReply(text="Hi there.", sound_ms=1000, played_s=0.5)
    async with line(reply) as (made, _):
        end = await made.ask(1)
        assert (end.status, end.audio_received_ms, end.output_tokens) == ("completed", 1000, 0)
        await until(lambda: len(made.all(ev.ReplyFinished)) == 2)
        late = made.all(ev.ReplyFinished)[-1]
        assert (late.reply, late.output_tokens, late.audio_received_ms) == (end.reply, 25, 0)


async def test_a_caller_who_speaks_while_the_reply_is_played_is_answered() -> None:
    first = ScriptedReply(text="Hi there.", sound_ms=1000, played_s=30)
    async with line(first, ScriptedReply(text="It is four.", sound_ms=300)) as (made, _):
        await made.ask(1)
        await made.ask(2)
        assert [(end.status, end.audio_received_ms) for end in ended(made)] == [("completed", 1000), ("completed", 300)]
        texts = {text.reply: text.delta for text in made.all(ev.ReplyText)}
        assert list(texts.values()) == ["Hi there.", "It is four."]


async def test_noise_begins_no_activity_and_keeps_none_open() -> None:
    async with line() as (made, peer):
        await made.ask(1)
        before = len(peer.received)
        for _ in range(15):  # 300 ms
            made.responder.send_audio(SPEECH)
        made.responder.send(do.ClearInput())
        await asyncio.sleep(0.05)
        assert len(peer.received) == before
        for _ in range(50):
            made.responder.send_audio(SPEECH)
        made.responder.send(do.ClearInput())
        made.responder.brief(Briefing("be brief"))  # the noise is left behind with its connection
        await until(lambda: peer.connections == 2)
        assert (await made.ask(2)).status == "completed"


async def test_every_piece_of_a_turn_is_transcribed() -> None:
    async with line(ScriptedReply(hear="what is the time", text="Four.", sound_ms=100)) as (made, _):
        for _ in range(2):
            for _ in range(30):
                made.responder.send_audio(SPEECH)
            made.responder.send(do.CommitInput())
        made.responder.send(do.CreateReply(Purpose.ANSWER, "answer-1"))
        await until(lambda: bool(made.all(ev.ReplyFinished)))
        pieces = [event.item for event in made.all(ev.InputCommitted)]
        assert [(event.item, event.text) for event in made.all(ev.UserTranscribed)] == [
            (pieces[0], ""),
            (pieces[1], "what is the time"),
        ]


async def test_a_call_without_anything_after_it_ends_its_reply() -> None:
    first = ScriptedReply(text="Moment.", sound_ms=100, calls=[("ask", {})], ends=False)
    async with line(first, ScriptedReply(text="Four.", sound_ms=100)) as (made, _):
        assert (await made.ask(1)).status == "completed"
        made.responder.send(do.SubmitResult(made.all(ev.ToolCalled)[0].call, "4"))
        made.responder.send(do.CreateReply(Purpose.RESULT, "result-2"))
        await until(lambda: len(ended(made)) == 2)
        assert made.all(ev.ReplyText)[-1].delta == "Four."


async def test_the_result_of_a_call_that_an_interruption_has_cancelled_is_a_note() -> None:
    first = ScriptedReply(text="Moment.", sound_ms=100, calls=[("ask", {})], played_s=30)
    async with line(first) as (made, peer):
        await made.ask(1)
        await made.ask(2)
        made.responder.send(do.SubmitResult(made.all(ev.ToolCalled)[0].call, "forty-two"))
        await made.ask(3)
        [session] = {id(each): each for each in peer.sessions.values()}.values()
        assert session.results == [] and "forty-two" in session.contents[-1]["parts"][0]["text"]


async def test_the_next_connection_has_the_whole_conversation() -> None:
    reply = ScriptedReply(text="Still here.", sound_ms=500, pace=0.2, go_away="50s")
    async with line(reply) as (made, peer):
        assert (await made.ask(1)).audio_received_ms == 500
        await until(lambda: peer.connections == 2)
        for number in (2, 3):
            assert (await made.ask(number)).status == "completed"
        assert made.failure is None and peer.connections == 2
        setups = [message["setup"] for _, message in peer.received if "setup" in message]
        assert [setup["sessionResumption"] for setup in setups] == [{}, {"handle": "handle-0"}]
        assert len({id(session) for session in peer.sessions.values()}) == 1


async def test_audio_during_the_change_arrives_over_the_next_connection() -> None:
    async with line(ScriptedReply(text="Hi.", sound_ms=100, go_away="50s")) as (made, peer):
        peer.resumes_in_s = 0.3
        await made.ask(1)
        await until(lambda: "crossing" in repr(made.responder))
        assert (await made.ask(2)).audio_sent_ms == 200
        ends = [number for number, message in peer.received if "activityEnd" in message.get("realtimeInput", {})]
        assert ends == [1, 2]


async def test_a_connection_that_cannot_be_changed_in_time_counts_as_broken() -> None:
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
        last = [message["setup"] for _, message in peer.received if "setup" in message][-1]
        assert last["systemInstruction"] == {"parts": [{"text": "be brief"}]}


def setup_message() -> dict[str, Any]:
    codec = GeminiCodec("m", "v")
    codec.briefing = BRIEFING
    message: dict[str, Any] = json.loads(codec.setup())
    return message


async def test_a_wrong_message_ends_the_connection_and_says_why() -> None:
    with running_peer("--strict", "gemini") as peer:
        async with dial(peer.realtime_url, compression=None) as socket:
            await socket.send(json.dumps(setup_message()))
            assert "setupComplete" in json.loads(await asyncio.wait_for(socket.recv(), 30))
            await socket.send(json.dumps({"clientContent": {"turns": [], "surprise": 1}}))
            with pytest.raises(ConnectionClosedError) as closed:
                await asyncio.wait_for(socket.recv(), 30)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1007 and "surprise" in closed.value.rcvd.reason


def test_the_items_of_two_connections_have_different_ids() -> None:
    def said_by(codec: GeminiCodec) -> set[str]:
        codec.encode(do.CreateReply(Purpose.ANSWER, "answer-1"))
        sound = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}
        _, events = codec.decode(json.dumps({"serverContent": {"modelTurn": {"parts": [sound]}}}).encode())
        return {event.item for event in events if isinstance(event, ev.ReplyAudio)}

    one, other = said_by(GeminiCodec("m", "v")), said_by(GeminiCodec("m", "v"))
    assert one and other and not one & other
