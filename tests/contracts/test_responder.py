"""The contract of a Responder, tried on each provider against a strict peer that refuses unknown fields."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial

from backend.call.responder_link import UNSEEN, fit
from backend.media.frame import FRAME_BYTES, Frame
from backend.responders.base import Briefing, PastMessage, ToolSchema
from backend.testing.offline.schema_checked import STRICT
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose, ResponderCommand
from tests.support.given import given_for_replies
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.pictures import data_url, png
from tests.support.responder_rigs import Line, Provider, line, providers
from tests.support.waiting import until

TOOL = ToolSchema("route_to_thinker", "Ask a specialist.", {"type": "object", "properties": {"q": {"type": "string"}}})
BRIEFING = Briefing("be kind", (TOOL,), purposes={Purpose.FILLER: "say you are looking"})
SPEECH = Frame(b"\x10\x00" * (FRAME_BYTES // 2))
LOUD = Frame(b"\x00\x20" * (FRAME_BYTES // 2))
"""A frame that a provider with turn detection takes for a voice."""
TONE = {"ms": 300}
ASKED = do.CreateReply(Purpose.ANSWER, "answer-1")


@pytest.fixture(scope="module", params=providers(), ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    chosen: Provider = request.param
    return chosen


@pytest.fixture(autouse=True)
def only_what_holds(request: pytest.FixtureRequest) -> None:
    """Skip a test that the provider leaves out."""
    if "provider" in request.fixturenames and (
        why := request.getfixturevalue("provider").leaves_out.get(request.node.originalname)
    ):
        pytest.skip(why)


@pytest.fixture(scope="module")
def peer(provider: Provider) -> Iterator[OfflinePeer]:
    with running_peer("--strict", provider.name) as running:
        yield running


def replying(
    provider: Provider, peer: OfflinePeer, *replies: dict[str, Any], **more: Any
) -> AbstractAsyncContextManager[Line]:
    """Return a line with a provider that gives these replies, one a turn."""
    turns = [{"hear": "hello", "reply": reply} for reply in replies]
    return line(provider, peer, {"turns": turns, **more}, BRIEFING)


async def ask(made: Line, request: str = "answer-1") -> None:
    """Take a turn of ten frames, and ask for its reply; a provider that finds turns needs to hear their end."""
    can = made.responder.capabilities
    if can.delegates:  # it finds turns by itself, without an event
        for frame in [LOUD] * 10 + [SPEECH] * 5:
            made.responder.send_audio(frame)
        made.responder.send(do.CommitInput())
    elif "local" in can.endpointers:
        for _ in range(10):
            made.responder.send_audio(SPEECH)
        made.responder.send(do.CommitInput())
    else:
        taken = len(made.all(ev.InputCommitted))
        for frame in [LOUD] * 10 + [SPEECH] * 25:
            made.responder.send_audio(frame)
        made.responder.send(do.CommitInput())
        await made.until(lambda: len(made.all(ev.InputCommitted)) > taken)
    made.responder.send(do.CreateReply(Purpose.ANSWER, request))


async def finished(made: Line, count: int = 1) -> ev.ReplyFinished:
    """Wait for the end of the reply of that number; Gemini counts its input in a second one."""
    await made.until(lambda: len({end.reply for end in made.all(ev.ReplyFinished)}) >= count)
    found: ev.ReplyFinished = made.all(ev.ReplyFinished)[-1]
    return found


async def test_a_turn_is_transcribed_and_answered_under_its_request(provider: Provider, peer: OfflinePeer) -> None:
    async with replying(provider, peer, {"text": "Hi there.", "tone": TONE}) as made:
        await ask(made)
        await finished(made)
        [started] = made.all(ev.ReplyStarted)
        assert started.request == "answer-1"
        assert sum(len(event.pcm) for event in made.all(ev.ReplyAudio)) == 300 * 48
        assert "".join(event.delta for event in made.all(ev.ReplyText)) == "Hi there."
        heard = "hello" if made.responder.capabilities.transcribes else ""
        await made.until(lambda: [event.text for event in made.all(ev.UserTranscribed)] == [heard])


COMMANDS: list[ResponderCommand] = [
    do.AddUserText("typed"),
    do.AddNote("a note"),
    do.CommitInput(),
    do.ClearInput(),
    do.CancelReply(None),
    do.CancelReply("r1"),
    do.TruncateItem("i1", 1200),
    do.DeleteItem("i1"),
    *(do.CreateReply(purpose, f"{purpose}-1", "a hint") for purpose in Purpose),
]


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
async def test_every_command_fits_the_schema_of_the_provider(
    provider: Provider, peer: OfflinePeer, command: ResponderCommand
) -> None:
    async with replying(provider, peer, {"text": "Yes.", "tone": TONE}) as made:
        fitting = fit(command, made.responder.capabilities)
        made.responder.send_audio(SPEECH)
        if fitting:
            made.responder.send(fitting)
        made.responder.brief(Briefing("be brief", (TOOL,)))
        made.responder.send(do.ClearInput())
        await asyncio.sleep(0.05)


async def test_a_model_gets_a_picture_or_a_note_that_there_was_one(provider: Provider, peer: OfflinePeer) -> None:
    async with replying(provider, peer, {"text": "Yes.", "tone": TONE}) as made:
        can = made.responder.capabilities
        fitting = fit(do.AddUserText("What is this?", (data_url(png(30, 20)),)), can)
        assert fitting == do.AddUserText(f"{UNSEEN} What is this?") or can.images
        made.responder.send(fitting or ASKED)
        made.responder.send(ASKED)
        await finished(made)
        said = "".join(event.delta for event in made.all(ev.ReplyText))
        assert said == ("I have got 1 picture: a PNG of 30 by 20." if can.images else "Yes.")


async def test_a_new_connection_gets_the_history(provider: Provider, peer: OfflinePeer) -> None:
    history = [PastMessage("user", "I am Ada."), PastMessage("assistant", "Hello Ada.")]
    async with line(provider, peer, {"turns": []}, BRIEFING, *history) as made:
        made.responder.send(ASKED)
        await finished(made)
        sent = json.dumps([entry["received"] for entry in await peer.connections()])
        assert all(past.text in sent for past in history)


async def test_a_reply_with_a_purpose_leaves_the_conversation_before_it_unchanged(
    provider: Provider, peer: OfflinePeer
) -> None:
    async with replying(provider, peer, {"text": "Hi there.", "tone": TONE}) as made:
        if not made.responder.capabilities.caches:
            pytest.skip("it has no prices for cached tokens")
        await ask(made)
        await finished(made)
        for number, purpose in enumerate((Purpose.FILLER, Purpose.ANSWER), 2):
            made.responder.send(do.CreateReply(purpose, f"{purpose}-{number}"))
            await finished(made, number)
        [log] = await peer.connections()
        answer, filler, next_answer = given_for_replies(log)
        assert filler[: len(answer)] == answer and len(filler) == len(answer) + 2, (
            "the filler gets the answer and its direction"
        )
        assert next_answer[: len(answer) + 1] == filler[:-1], "the next answer does not get the direction"


async def test_the_messages_of_a_reply_arrive_in_order_with_an_item_each(provider: Provider, peer: OfflinePeer) -> None:
    reply = {"text": "Let me think.", "tone": TONE, "messages": [{"text": "It is four.", "tone": {"ms": 500}}]}
    async with replying(provider, peer, reply) as made:
        await ask(made)
        await finished(made)
        items = list(dict.fromkeys(event.item for event in made.all(ev.ReplyAudio)))
        lengths = [sum(len(e.pcm) for e in made.all(ev.ReplyAudio) if e.item == item) // 48 for item in items]
        assert lengths == [300, 500]
        assert [event.item for event in made.all(ev.MessageFinished)] == items
        if made.responder.capabilities.truncates:
            made.responder.send(do.TruncateItem(items[1], 200))
            made.responder.send(do.DeleteItem(items[0]))

            async def is_truncated() -> bool:
                shown = (await peer.connections())[-1]["items"]
                kept = [(item["id"], item["heard_ms"]) for item in shown if item.get("role") == "assistant"]
                return kept == [(items[1], 200)]

            await until(is_truncated)


async def test_parallel_tool_calls_arrive_before_the_end_and_take_results(
    provider: Provider, peer: OfflinePeer
) -> None:
    calls = [{"name": "route_to_thinker", "arguments": {"q": str(number)}} for number in range(3)]
    async with replying(provider, peer, {"text": "Moment.", "tone": TONE, "calls": calls}) as made:
        await ask(made)
        await finished(made)
        called = made.all(ev.ToolCalled)
        assert [json.loads(call.arguments)["q"] for call in called] == ["0", "1", "2"]
        assert made.events.index(called[-1]) < made.events.index(made.all(ev.ReplyFinished)[0])
        for call in called:
            made.responder.send(do.SubmitResult(call.call, '{"answer": "4"}'))
        made.responder.send(do.CreateReply(Purpose.RESULT, "result-2"))
        await finished(made, 2)


async def test_a_cancelled_reply_ends(provider: Provider, peer: OfflinePeer) -> None:
    async with replying(provider, peer, {"text": "A story.", "tone": {"ms": 60_000}, "pace": 1}) as made:
        await ask(made)
        await made.until(lambda: made.all(ev.ReplyAudio))
        made.responder.send(do.CancelReply(made.all(ev.ReplyStarted)[0].reply))
        assert (await finished(made)).status == "cancelled"


@pytest.mark.parametrize(("status", "reason"), [("incomplete", "max_output_tokens"), ("incomplete", "content_filter")])
async def test_an_incomplete_reply_has_its_reason(
    provider: Provider, peer: OfflinePeer, status: str, reason: str
) -> None:
    reply = {"text": "It is", "tone": TONE, "status": status, "status_details": {"reason": reason}}
    async with replying(provider, peer, reply) as made:
        await ask(made)
        end = await finished(made)
        assert (end.status, end.detail) == (status, reason)


async def test_a_rate_limit_has_the_time_after_which_to_retry(provider: Provider, peer: OfflinePeer) -> None:
    error = {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}
    reply = {"status": "failed", "status_details": {"error": error}}
    async with replying(provider, peer, reply) as made:
        await ask(made)
        end = await finished(made)
        assert (end.status, end.detail, end.retry_after_s) == ("failed", "rate_limit_exceeded", provider.retry_after_s)


async def test_the_tokens_of_a_reply_are_counted_by_kind(provider: Provider, peer: OfflinePeer) -> None:
    async with replying(provider, peer, {"text": "It is four.", "tone": {"ms": 1000}}) as made:
        await ask(made)
        await finished(made)
        await made.until(lambda: made.all(ev.ReplyFinished)[-1].input_tokens)
        usage = made.all(ev.ReplyFinished)[-1].usage
        assert usage.audio_in == provider.tokens_heard and usage.audio_out == 20 and usage.text_out > 0


async def test_an_expired_connection_can_be_retried(provider: Provider, peer: OfflinePeer) -> None:
    async with replying(provider, peer, {"text": "It is", "tone": TONE, "expire_after_ms": 100}) as made:
        await ask(made)
        await made.until(lambda: made.failure)
        assert made.failure and made.failure.retryable


async def test_the_words_of_the_caller_arrive_before_the_connection_breaks_during_the_answer(
    provider: Provider, peer: OfflinePeer
) -> None:
    reply = {"text": "It is a long story.", "tone": {"ms": 3000}, "pace": 1, "drop_after_ms": 100}
    async with replying(provider, peer, reply) as made:
        await ask(made)
        await made.until(lambda: made.failure)
        heard = "hello" if made.responder.capabilities.transcribes else ""
        assert [event.text for event in made.all(ev.UserTranscribed)] == [heard]


async def test_closing_twice_leaves_no_task_behind(provider: Provider, peer: OfflinePeer) -> None:
    before = len(asyncio.all_tasks())
    async with replying(provider, peer) as made:
        await made.responder.close()
    await until(lambda: len(asyncio.all_tasks()) == before)


# --- the strictness of the peer ----------------------------------------------------------------------


async def test_the_strict_peer_refuses_a_wrong_event_and_keeps_the_connection(
    provider: Provider, peer: OfflinePeer
) -> None:
    await peer.follow({})
    async with dial(peer.realtime_url, compression=None) as socket:
        recv = partial(asyncio.wait_for, timeout=20)
        assert json.loads(await recv(socket.recv()))["type"] == "session.created"
        await socket.send(json.dumps({"type": "input_audio_buffer.clear", "event_id": "e7", "surprise": 1}))
        error = json.loads(await recv(socket.recv()))["error"]
        assert error["code"] == STRICT and "surprise" in error["message"]
        assert error.get("event_id") == ("e7" if provider.names_refused else None)
        await socket.send(json.dumps({"type": "input_audio_buffer.clear"}))
        assert json.loads(await recv(socket.recv()))["type"] == "input_audio_buffer.cleared"
