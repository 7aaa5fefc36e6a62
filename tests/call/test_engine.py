"""One call's shell: events in, commands out, and every way it can end. No wire and no process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from backend.call import responder_link
from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation import page_events as page
from backend.conversation.limits import TurnLimits
from backend.conversation.turn import TurnMachine
from backend.errors import (
    BadRequest,
    MediaFailed,
    NeverConnected,
    ResponderRejected,
    ResponderUnavailable,
    TransportLost,
)
from backend.media.echo import EchoGuard
from backend.media.frame import SILENCE, Frame
from backend.responders.base import PastMessage
from backend.storage.memory import MemoryJob
from backend.storage.messages import Message, StoredCall
from backend.testing.memory import FakeMemory
from backend.testing.responder import ScriptedResponder
from backend.thinkers.base import Answer
from backend.thinkers.run import ThinkerRun
from tests.call.world import TONE, PlacedCall, placed_call, settle, think_at_once, thinkers
from tests.support.leaks import holdings
from tests.support.summaries import summary_of
from tests.support.tones import loudness_db
from tests.support.waiting import until

TOOL = "route_to_thinker"


async def begin_reply(call: PlacedCall, text: str = "one two three four", pcm: bytes = TONE) -> None:
    """The provider begins what was asked for last: words, then sound, not yet finished."""
    request = call.responder.requests[-1].request
    reply = f"r-{request}"
    call.responder.say(ev.ReplyStarted(reply, request), ev.ReplyText(reply, f"i-{request}", text))
    call.responder.say(ev.ReplyAudio(reply, f"i-{request}", pcm))
    await settle()


async def finish_reply(call: PlacedCall) -> None:
    """It has said all."""
    call.responder.say(ev.ReplyFinished(f"r-{call.responder.requests[-1].request}", "completed"))
    await settle()


async def play_out(call: PlacedCall, frames: int = 12) -> None:
    """Time passes for the listener."""
    call.transport.tick(frames)
    await settle()


async def type_and_answer(call: PlacedCall, text: str = "hello") -> None:
    call.session.live_call().type_text(text)
    await begin_reply(call)
    await finish_reply(call)
    await play_out(call)


class EchoingGuard(EchoGuard):
    """An echo guard for which everything received is an echo."""

    def __init__(self) -> None:
        self.frames: list[Frame | None] = []

    def played(self, frame: Frame | None) -> None:
        self.frames.append(frame)

    def clean(self, frame: Frame) -> Frame:
        return SILENCE


# --- a conversation -----------------------------------------------------------------------------------


async def test_typed_text_is_added_answered_played_and_remembered() -> None:
    async with placed_call() as call:
        await type_and_answer(call)
        assert call.done(do.AddUserText) == [do.AddUserText("hello")]
        assert [entry["content"] for entry in call.session.transcript] == ["hello", "one two three four"]
        assert b"".join(call.transport.played).startswith(TONE)
        memory = FakeMemory()
        for job in call.jobs:
            await job(memory)
        said = await memory.recent_messages("ada", call.session.conversation_id)
    assert [(m.role, m.content) for m in said] == [("user", "hello"), ("assistant", "one two three four")]


async def test_the_echo_guard_gets_what_is_played_and_takes_it_out_of_what_is_received() -> None:
    guard = EchoingGuard()
    async with placed_call(open_echo_guard=lambda: guard) as call:
        await type_and_answer(call)
        await call.speak(30, then_silent=5)
        assert call.done(do.CommitInput) == [] and call.responder.frames == []
    assert b"".join(frame for frame in guard.frames if frame) == TONE


async def test_the_callers_voice_reaches_the_responder_before_it_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    async with placed_call() as call:
        monkeypatch.setattr(call.responder, "send_audio", lambda _frame: order.append("frame"))
        monkeypatch.setattr(call.responder, "send", lambda command: order.append(type(command).__name__))
        await call.speak(10, then_silent=3)
    assert order == ["frame"] * 10 + ["CommitInput", "CreateReply"]


async def test_the_first_frame_of_speech_turns_the_reply_down_at_once() -> None:
    async with placed_call() as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await play_out(call, 3)
        await call.speak(1)
        call.transport.tick(5)
        before, ducked = call.transport.played[2], call.transport.played[7]
        assert loudness_db(ducked) < loudness_db(before) - 12
        assert call.told("floor")[-1] == {"floor": "held"}


async def test_the_first_frame_of_speech_holds_the_reply_at_once_if_that_is_set() -> None:
    async with placed_call(limits=TurnLimits(interruption_onset="hold")) as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await play_out(call, 3)
        await call.speak(1)
        call.transport.tick(5)
        assert not any(map(any, call.transport.played[3:]))
        assert call.told("floor")[-1] == {"floor": "held"}


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_begins_with_interruptions_as_its_session_has_them_and_can_be_switched(allowed: bool) -> None:
    async with placed_call(limits=TurnLimits(interruption_min_ms=0), interruptions=allowed) as call:
        assert call.told("session_started")[0]["interruptions"] is allowed
        call.live.type_text("hello")
        await begin_reply(call)
        await play_out(call, 3)
        await call.speak(20)
        assert bool(call.done(do.CancelReply)) is allowed
    async with placed_call(limits=TurnLimits(interruption_min_ms=0), interruptions=allowed) as call:
        call.live.allow_interruptions(not allowed)
        call.live.type_text("hello")
        await begin_reply(call)
        await play_out(call, 3)
        await call.speak(20)
        assert bool(call.done(do.CancelReply)) is not allowed
        assert call.told("interruptions") == [{"allowed": not allowed}]
        assert call.session.interruptions is not allowed


async def test_murmurs_and_discarded_replies_are_counted() -> None:
    async with placed_call() as call:
        call.live._publish(page.MurmurHeard("agreement", "mm-hmm"))
        call.live._publish(page.ReplyDiscarded(1, 300, 20))
        value = call.line.metrics.registry.get_sample_value
        assert value("voice_murmurs_total", {"kind": "agreement"}) == 1
        assert value("voice_replies_discarded_tokens_total", {"direction": "input"}) == 300


async def test_a_cough_resumes_with_no_sample_lost() -> None:
    async with placed_call(limits=TurnLimits(interruption_onset="hold")) as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await finish_reply(call)
        await play_out(call, 3)
        await call.speak(2)
        call.transport.tick(5)
        await call.speak(0, then_silent=3)
        await play_out(call, 10)
        heard = b"".join(call.transport.played[:3] + call.transport.played[8:])
        assert heard.startswith(TONE)
        assert call.done(do.ClearInput) and not call.done(do.CancelReply)


async def test_taking_the_floor_cancels_flushes_and_tells_the_provider_what_was_heard() -> None:
    async with placed_call(limits=TurnLimits(interruption_min_ms=0)) as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await play_out(call, 5)
        await call.speak(1)
        item = f"i-{call.responder.requests[0].request}"
        kinds = [type(command) for command in call.responder.commands[2:]]
        assert kinds == [do.CancelReply, do.TruncateItem], "what was flushed comes back to the machine, after the rest"
        assert call.done(do.TruncateItem) == [do.TruncateItem(item, 100)]
        [interrupted] = call.told("transcript_interrupted")
        assert "one two three four".startswith(interrupted["heard"]) and interrupted["heard"]
        assert call.transport.tick(3) == bytes(960)
    assert call.session.counts["interruptions"] == 1


async def test_a_tool_call_is_thought_about_submitted_and_spoken_of() -> None:
    async with placed_call(thinkers=thinkers(moon=think_at_once)) as call:
        call.session.live_call().type_text("how far is the moon")
        request = call.responder.requests[-1].request
        arguments = json.dumps({"domain": "moon", "query": "how far"})
        call.responder.say(ev.ReplyStarted("r1", request), ev.ToolCalled("r1", "c1", TOOL, arguments))
        call.responder.say(ev.ReplyFinished("r1", "completed"))
        await settle()
        [result] = call.done(do.SubmitResult)
        assert (result.call, json.loads(result.output)["answer"]) == ("c1", "About how far.")
        assert [request.purpose for request in call.responder.requests] == [do.Purpose.ANSWER, do.Purpose.RESULT]
        assert [data["event"] for data in call.told("thinker")] == ["routed", "working", "complete"]
        assert all(data["label"] == "Moon" for data in call.told("thinker"))


async def test_the_page_is_told_how_the_call_was_made() -> None:
    async with placed_call() as call:
        [started] = call.told("session_started")
    assert started["session_id"] == call.session.id
    assert (started["hearing"], started["responder"], started["offline"]) == ("loudness", "fake", True)


async def test_a_turns_time_is_measured_for_the_page_and_for_the_operator() -> None:
    async with placed_call() as call:
        await type_and_answer(call)
        [legs] = call.told("turn_metrics")
        registry = call.line.metrics.registry
        assert registry.get_sample_value("voice_turn_leg_seconds_count", {"leg": "total"}) == 1
        await call.speak(10, then_silent=3)
        assert registry.get_sample_value("voice_vad_decisions_total", {"decision": "speech_stopped"}) == 1
    assert legs["turn"] == 1


async def test_a_reply_that_does_not_fit_in_the_queue_is_cut_and_said_to_be() -> None:
    async with placed_call() as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call, pcm=bytes(48 * 301_000))
        [error] = call.told("error")
    assert "too long" in error["message"]


# --- before the Responder is there, and when it is lost -----------------------------------------------


async def test_what_is_typed_and_said_while_dialling_is_not_lost() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(line_is_free) as call:
        call.session.live_call().type_text("hello")
        await call.speak(10, then_silent=3)
        line_is_free.set()
        await settle()
        assert call.done(do.AddUserText) == [do.AddUserText("hello")]
        assert len(call.responder.frames) == 10


async def test_a_broken_line_is_dialled_again_with_the_history() -> None:
    async with placed_call() as call:
        await type_and_answer(call)
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        assert [first.closed for first in call.responders] == [True, False]
        assert call.histories[1] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        await type_and_answer(call, "again")
        assert call.done(do.AddUserText) == [do.AddUserText("again")]


async def test_what_is_typed_during_the_reconnection_is_told_to_the_new_line() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(ScriptedResponder(), line_is_free) as call:
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        call.session.live_call().type_text("are you there")
        line_is_free.set()
        await settle()
        assert call.histories[1] == []
        assert call.responder.commands == [do.AddUserText("are you there"), call.responder.requests[0]]


async def test_each_attempt_is_told_what_was_said_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "PAUSES_S", (0.3,))
    async with placed_call(ScriptedResponder(), ResponderUnavailable("busy")) as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await finish_reply(call)
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        await play_out(call)
        await until(lambda: len(call.responders) == 2)
        assert call.histories[1] == [PastMessage("user", "hello")]
        assert call.histories[2] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        assert call.done(do.AddNote) == []


async def test_what_is_heard_during_the_reconnection_is_told_to_the_new_line() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(ScriptedResponder(), line_is_free) as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await finish_reply(call)
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        await play_out(call)
        line_is_free.set()
        await settle()
        [note] = call.done(do.AddNote)
        assert note.text.endswith("heard you say: one two three four")


async def test_a_responder_that_cannot_be_reached_ends_the_call_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "PAUSES_S", (0.01,))
    monkeypatch.setattr(responder_link, "SPREAD_S", 0.0)
    async with placed_call(*[ResponderUnavailable("busy")] * 100, line_patience_s=0.1) as call:
        await until(lambda: bool(call.told("error")))
        assert 2 < len(call.histories) < 50
        assert any(map(any, (call.transport.tick(1) for _ in range(20)))), "something is said"
        call.transport.tick(1000)
        async with asyncio.timeout(1):
            assert await call.task == "responder_gone"
    assert call.told("error") and not call.told("session_started")


async def test_a_caller_who_comes_while_nobody_can_be_reached_is_told_so_and_then_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(responder_link, "LATE_AFTER_S", 0.05)
    async with placed_call(ResponderUnavailable("busy")) as call:
        call.session.live_call().type_text("hello")
        await until(lambda: bool(call.told("responder_changed")))
        assert call.told("responder_changed")[0] == {"state": "lost", "responder": "", "model": ""}
        assert "cannot be reached yet" in call.told("error")[0]["message"]
        await until(lambda: len(call.responders) == 1)
        await settle()
        assert [data["state"] for data in call.told("responder_changed")] == ["lost", "connected"]
        assert call.done(do.AddUserText) == [do.AddUserText("hello")] and len(call.responder.requests) == 1


async def test_a_responder_that_refuses_us_is_not_asked_again() -> None:
    async with placed_call(ResponderRejected("bad key"), ScriptedResponder()) as call:
        assert len(call.histories) == 1
        call.transport.tick(1000)
        assert await call.task == "responder_gone"


# --- endings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [(None, "disconnected"), (TransportLost("gone"), "network_lost"), (NeverConnected("never"), "never_connected")],
)
async def test_a_caller_who_is_gone_ends_the_call(error: TransportLost | None, reason: str) -> None:
    async with placed_call() as call:
        call.transport.finish(error)
        assert await call.task == reason
        assert call.transport.closed and call.responder.closed
        assert call.session.call is None


async def test_a_deleted_call_ends_at_once_and_forgets() -> None:
    async with placed_call() as call:
        await type_and_answer(call)
        call.live.hang_up("deleted")
        assert await call.task == "deleted"
        memory = FakeMemory()
        for job in call.jobs:
            await job(memory)
    assert await memory.recent_messages("ada", call.session.conversation_id) == []


async def test_a_shutdown_is_said_aloud_before_the_line_goes() -> None:
    async with placed_call() as call:
        call.live.hang_up("shutdown")
        await settle()
        assert not call.task.done() and any(call.transport.tick(10))
        await play_out(call, 500)
        assert await call.task == "shutdown"
        assert call.told("transcript")[-1]["content"] == do.CLIP_WORDS[do.Clip.GOODBYE]


async def test_a_call_does_not_last_longer_than_it_may() -> None:
    async with placed_call(max_s=0.03) as call:
        await asyncio.sleep(0.05)
        await play_out(call, 500)
        async with asyncio.timeout(1):
            assert await call.task == "max_minutes"


async def test_silence_is_nudged_then_said_goodbye_to() -> None:
    async with placed_call(limits=TurnLimits(idle_nudge_s=0.03, idle_disconnect_s=0.09)) as call:
        async with asyncio.timeout(2):
            for number in (1, 2):
                await until(lambda: len(call.responder.requests) == number)  # noqa: B023 - asked before the next
                await begin_reply(call)
                await finish_reply(call)
                await play_out(call)
            assert await call.task == "idle"
    assert [request.purpose for request in call.responder.requests] == [do.Purpose.NUDGE, do.Purpose.GOODBYE]
    idle = [event.type for event in call.events if event.type.startswith("session_idle")]
    assert idle == ["session_idle_nudge", "session_idle_disconnect"]


async def test_an_ending_call_takes_no_more_text() -> None:
    async with placed_call() as call:
        live = call.live
        live.hang_up("deleted")
        with pytest.raises(BadRequest):
            live.type_text("too late")


async def test_the_end_is_counted_and_summed_up() -> None:
    async with placed_call() as call:
        await type_and_answer(call)
        call.transport.finish()
        await call.task
        memory = FakeMemory()
        for job in call.jobs:
            await job(memory)
    summary = await summary_of(memory, call.session.id)
    assert summary and (summary["reason"], summary["turns"], summary["replies"]) == ("disconnected", 1, 1)
    ended = call.line.metrics.registry.get_sample_value("voice_sessions_ended_total", {"reason": "disconnected"})
    assert ended == 1


async def test_nothing_is_left_of_an_ended_call() -> None:
    before = holdings()
    async with placed_call(thinkers=thinkers(slow=_never)) as call:
        call.session.live_call().type_text("hello")
        arguments = json.dumps({"domain": "slow", "query": "why"})
        request = call.responder.requests[-1].request
        call.responder.say(ev.ReplyStarted("r1", request), ev.ToolCalled("r1", "c1", TOOL, arguments))
        await settle()
        assert call.told("thinker")
        call.transport.finish()
        await call.task
    await settle()
    assert holdings().tasks == before.tasks


async def _never(_: ThinkerRun) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


# --- faults -------------------------------------------------------------------------------------------


async def crashed(call: PlacedCall) -> None:
    """The call has ended as an error, told so, and let go of everything."""
    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(2):
            await call.task
    await settle()
    assert call.told("error")[-1]["message"] == "The call failed."
    assert call.transport.closed and (not call.responders or call.responder.closed)
    ended = call.line.metrics.registry.get_sample_value("voice_sessions_ended_total", {"reason": "error"})
    assert ended == 1 and call.session.call is None


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError("a fault")


async def test_a_fault_in_the_uplink_ends_the_call_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    before = holdings().tasks
    async with placed_call() as call:
        monkeypatch.setattr(call.responder, "send_audio", broken)
        await call.speak(1)
        await crashed(call)
    await settle()
    assert holdings().tasks == before


async def test_a_fault_in_the_downlink_ends_the_call_as_an_error() -> None:
    async with placed_call(brief=broken) as call:
        await crashed(call)


async def test_a_fault_that_a_request_brings_about_ends_the_call_and_not_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with placed_call() as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await finish_reply(call)
        monkeypatch.setattr(call.responder, "send", broken)
        call.session.live_call().type_text("again")
        await crashed(call)


async def test_a_fault_that_the_transports_clock_brings_about_does_not_stop_that_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with placed_call() as call:
        call.session.live_call().type_text("hello")
        await begin_reply(call)
        await finish_reply(call)
        monkeypatch.setattr(call.session.transcript, "_entry", broken)
        assert call.transport.tick(20) == bytes(960)
        await crashed(call)


async def test_a_fault_in_what_a_deadline_brings_ends_the_call_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with placed_call(limits=TurnLimits(idle_nudge_s=0.02, idle_disconnect_s=0)) as call:
        monkeypatch.setattr(call.responder, "send", broken)
        await crashed(call)


async def test_a_fault_in_naming_the_next_deadline_ends_the_call_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with placed_call() as call:
        monkeypatch.setattr(TurnMachine, "deadline", broken)
        call.session.live_call().type_text("hello")
        await crashed(call)


async def test_a_memory_that_takes_nothing_costs_memory_only() -> None:
    def keep(_job: MemoryJob) -> None:
        raise RuntimeError("full")

    async with placed_call(enqueue=keep) as call:
        await type_and_answer(call)
        await type_and_answer(call, "again")
        call.transport.finish()
        assert await call.task == "disconnected"
    assert not call.told("error") and call.transport.closed


async def test_a_call_that_is_cancelled_cleans_up_all_the_same() -> None:
    async with placed_call() as call:
        call.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call.task
        assert call.transport.closed and call.responder.closed and call.jobs


async def test_a_call_goes_on_with_a_conversation_begun_by_text_and_adds_to_it() -> None:
    memory = FakeMemory()
    calls = (StoredCall("t1", "echo", "{}"),)
    await memory.append_messages(
        "ada",
        "c1",
        Message("user", "I am Ana.", 1.0, "chat"),
        Message("assistant", "", 2.0, "chat", tool_calls=calls),
        Message("tool", "{}", 3.0, "chat", tool_call_id="t1"),
        Message("assistant", "Hello Ana.", 4.0, "chat"),
    )
    async with placed_call(remembering=memory, conversation="c1") as call:
        assert call.histories == [[PastMessage("user", "I am Ana."), PastMessage("assistant", "Hello Ana.")]]
        assert call.told("session_started")[0]["conversation_id"] == "c1"
        await type_and_answer(call)
        for job in call.jobs:
            await job(memory)
    said = await memory.recent_messages("ada", "c1")
    assert [(one.content, one.source_mode) for one in said[-2:]] == [
        ("hello", "voice"),
        ("one two three four", "voice"),
    ]


async def test_a_conversation_that_cannot_be_read_costs_its_words_and_the_page_is_told() -> None:
    memory = FakeMemory()
    async with placed_call(remembering=memory, conversation="c1") as call:
        assert call.told("session_started")[0]["history"] == "kept"

    async def slow(_user: str, _conversation: str) -> None:
        return None

    async with placed_call(conversation="c1", earlier=slow) as call:
        assert call.histories == [[]]
        assert call.told("session_started")[0]["history"] == "unavailable"


async def test_a_new_conversation_asks_memory_nothing() -> None:
    async def never(_user: str, _conversation: str) -> None:
        raise AssertionError

    async with placed_call(earlier=never) as call:
        assert call.session.conversation_id and call.histories == [[]]


async def test_every_step_of_cleaning_up_is_taken_though_others_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    async with placed_call() as call:
        for owner, step in (
            (call.live._tool_calls, "close"),
            (call.transport, "close"),
            (call.live._endpointing, "close"),
            (call.live._learner, "close"),
            (call.live._post_turn, "close"),
        ):
            monkeypatch.setattr(owner, step, broken)
        call.transport.finish(None)
        assert await call.task == "disconnected"
        assert call.session.call is None
        ended = call.line.metrics.registry.get_sample_value("voice_sessions_ended_total", {"reason": "disconnected"})
        assert ended == 1 and call.jobs, "the record of the call is kept"


async def test_a_fault_in_the_audio_path_ends_the_call_in_order_and_is_shown() -> None:
    async with placed_call() as call:
        call.transport.finish(MediaFailed("This call's audio failed (ValueError)."))
        async with asyncio.timeout(1):
            assert await call.task == "error"
        await settle()
        assert call.told("error")[-1] == {
            "message": "This call's audio failed (ValueError).",
            "hint": "Call again; the server's log says why.",
        }
