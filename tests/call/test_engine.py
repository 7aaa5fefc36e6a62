"""The call engine turns events into commands, without a network or a process."""

import json

import pytest

from backend import page_events as page
from backend.media.echo import EchoGuard
from backend.media.endpointing import LocalEndpointing
from backend.media.frame import SILENCE, Frame
from backend.media.segmenter import Segmenter
from backend.testing.memory import FakeMemory
from backend.turns import commands as do
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.turns.machine.pending_turn.waiting import HINTED_S
from tests.call.world import TONE, LoudnessVad, placed_call, think_at_once, thinkers
from tests.support.tones import loudness_db


class EchoingGuard(EchoGuard):
    """An echo guard that removes all received audio."""

    def __init__(self) -> None:
        self.frames: list[Frame | None] = []

    def played(self, frame: Frame | None) -> None:
        self.frames.append(frame)

    def clean(self, frame: Frame) -> Frame:
        return SILENCE


async def test_typed_text_is_answered_played_and_stored() -> None:
    async with placed_call() as call:
        await call.type_and_answer()
        assert call.done(do.AddUserText) == [do.AddUserText("hello")]
        assert [entry["content"] for entry in call.session.transcript] == ["hello", "one two three four"]
        assert b"".join(call.transport.played).startswith(TONE)
        memory = FakeMemory()
        for job in call.jobs:
            await job(memory)
        said = await memory.recent_messages("ada", call.session.conversation_id)
    assert [(m.role, m.content) for m in said] == [("user", "hello"), ("assistant", "one two three four")]


async def test_the_echo_guard_gets_played_audio_and_cleans_received_audio() -> None:
    guard = EchoingGuard()
    async with placed_call(open_echo_guard=lambda: guard) as call:
        await call.type_and_answer()
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


async def test_a_sound_at_the_level_of_the_caller_delays_a_prepared_reply() -> None:
    endpointing = LocalEndpointing(LoudnessVad(), Segmenter(0, 0, 3), 0.5)
    limits = TurnLimits(style=EndpointingStyle.BALANCED, idle_nudge_s=0, idle_disconnect_s=0)
    async with placed_call(limits=limits, open_endpointing=lambda: endpointing) as call:
        endpointing.near_sound = True
        await call.speak(0, then_silent=1)
        assert not call.live.parts.uplink._hinted, "a hint was taken without a prepared reply"
        endpointing.near_sound = False
        await call.speak(30, then_silent=3)
        due = call.live.parts.machine.deadline()
        endpointing.near_sound = True
        await call.speak(0, then_silent=1)
        assert call.events_of("floor")[-1] == {"floor": "pausing"} and due is not None
        assert call.live.parts.machine.deadline() == pytest.approx(due + HINTED_S)
        endpointing.near_sound = False
        await call.speak(0, then_silent=1)
        assert call.live.parts.machine.deadline() == due


async def test_the_first_frame_of_speech_ducks_the_reply() -> None:
    async with placed_call() as call:
        await call.ask()
        await call.play_out(3)
        await call.speak(1)
        call.transport.tick(5)
        before, after = call.transport.played[2], call.transport.played[7]
        assert loudness_db(after) < loudness_db(before) - 12
        assert call.events_of("floor")[-1] == {"floor": "held"}


@pytest.mark.parametrize("switched", [False, True])
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_has_the_interruptions_of_its_session_until_they_are_switched(
    allowed: bool, switched: bool
) -> None:
    async with placed_call(limits=TurnLimits(interruption_min_ms=0), interruptions=allowed) as call:
        assert call.events_of("session_started")[0]["interruptions"] is allowed
        if switched:
            call.live.allow_interruptions(not allowed)
            assert call.session.interruptions is not allowed
        await call.ask()
        await call.play_out(3)
        await call.speak(20)
        assert bool(call.done(do.CancelReply)) is (allowed is not switched)
        assert call.events_of("interruptions") == ([{"allowed": not allowed}] if switched else [])


async def test_murmurs_and_discarded_replies_are_counted() -> None:
    async with placed_call() as call:
        call.live.engine.publish(page.MurmurHeard("agreement", "mm-hmm"))
        call.live.engine.publish(page.ReplyDiscarded(1, 300, 20))
        value = call.line.metrics.registry.get_sample_value
        assert value("voice_murmurs_total", {"kind": "agreement"}) == 1
        assert value("voice_replies_discarded_tokens_total", {"direction": "input"}) == 300


async def test_a_reply_resumes_after_a_cough() -> None:
    async with placed_call() as call:
        await call.ask()
        await call.finish_reply()
        await call.play_out(3)
        await call.speak(2)
        call.transport.tick(5)
        await call.speak(0, then_silent=3)
        await call.play_out(5)
        assert {"floor": "held"} in call.events_of("floor") and not call.events_of("transcript_interrupted")
        assert call.done(do.ClearInput) and not call.done(do.CancelReply)


@pytest.mark.document("001", "interruptions and guards")
async def test_an_interruption_flushes_the_reply_and_truncates_it_at_the_provider() -> None:
    async with placed_call(limits=TurnLimits(interruption_min_ms=0)) as call:
        await call.ask()
        await call.play_out(5)
        await call.speak(1)
        item = f"i-{call.responder.requests[0].request}"
        kinds = [type(command) for command in call.responder.commands[2:]]
        assert kinds == [do.CancelReply, do.TruncateItem], "the truncation does not follow the cancellation"
        assert call.done(do.TruncateItem) == [do.TruncateItem(item, 100)]
        [interrupted] = call.events_of("transcript_interrupted")
        assert "one two three four".startswith(interrupted["heard"]) and interrupted["heard"]
        assert call.transport.tick(3) == bytes(960)
    assert call.session.counts["interruptions"] == 1


async def test_the_result_of_a_tool_call_is_submitted_and_spoken() -> None:
    async with placed_call(thinkers=thinkers(moon=think_at_once)) as call:
        call.session.live_call().type_text("how far is the moon")
        await call.call_thinker("moon", "how far")
        [result] = call.done(do.SubmitResult)
        assert (result.call, json.loads(result.output)["answer"]) == ("c1", "About how far.")
        assert [request.purpose for request in call.responder.requests] == [do.Purpose.ANSWER, do.Purpose.RESULT]
        assert [data["event"] for data in call.events_of("thinker")] == ["routed", "working", "complete"]
        assert all(data["label"] == "Moon" for data in call.events_of("thinker"))


async def test_the_page_gets_the_facts_of_a_new_call() -> None:
    async with placed_call() as call:
        [started] = call.events_of("session_started")
    assert started["session_id"] == call.session.id
    assert (started["hearing"], started["responder"], started["offline"]) == ("silero", "fake", True)


async def test_the_time_of_a_turn_is_on_the_page_and_in_the_metrics() -> None:
    async with placed_call() as call:
        await call.type_and_answer()
        [legs] = call.events_of("turn_metrics")
        registry = call.line.metrics.registry
        assert registry.get_sample_value("voice_turn_leg_seconds_count", {"leg": "first_sound"}) == 1
    assert legs["turn"] == 1


async def test_a_reply_that_does_not_fit_into_the_queue_is_cut_with_an_error() -> None:
    async with placed_call() as call:
        await call.ask(pcm=bytes(48 * 301_000))
        [error] = call.events_of("error")
    assert "too long" in error["message"]
