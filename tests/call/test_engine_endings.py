"""Every way in which a call ends, and what is left then."""

import asyncio

import pytest

from backend.errors import BadRequest, NeverConnected, TransportLost
from backend.testing.memory import FakeMemory
from backend.thinkers.base import Answer
from backend.thinkers.run import ThinkerRun
from backend.turns import commands as do
from backend.turns.limits import TurnLimits
from backend.turns.machine import ending
from tests.call.world import placed_call, settle, thinkers
from tests.support.leaks import holdings
from tests.support.waiting import until


@pytest.mark.parametrize(
    ("error", "reason"),
    [(None, "disconnected"), (TransportLost("gone"), "network_lost"), (NeverConnected("never"), "never_connected")],
)
async def test_a_lost_caller_ends_the_call(error: TransportLost | None, reason: str) -> None:
    async with placed_call() as call:
        call.transport.finish(error)
        assert await call.task == reason
        assert call.transport.closed and call.responder.closed
        assert call.session.call is None
    assert call.ended(reason) == 1


async def test_a_deleted_call_ends_immediately_without_a_history() -> None:
    async with placed_call() as call:
        await call.type_and_answer()
        call.live.hang_up("deleted")
        assert await call.task == "deleted"
        memory = FakeMemory()
        for job in call.jobs:
            await job(memory)
    assert await memory.recent_messages("ada", call.session.conversation_id) == []


async def test_a_shutdown_is_announced_before_the_call_ends() -> None:
    async with placed_call() as call:
        call.live.hang_up("shutdown")
        await settle()
        assert not call.task.done() and any(call.transport.tick(10))
        await call.play_out(500)
        assert await call.task == "shutdown"
        assert call.events_of("transcript")[-1]["content"] == do.CLIP_WORDS[do.Clip.GOODBYE]


async def test_a_call_ends_at_its_maximal_length() -> None:
    async with placed_call(max_s=0.03) as call:
        await until(lambda: bool(call.events_of("transcript")))
        await call.play_out(500)
        async with asyncio.timeout(20):
            assert await call.task == "max_minutes"
        assert call.events_of("transcript")[-1]["content"] == do.CLIP_WORDS[do.Clip.LIMIT]


@pytest.mark.parametrize(("reason", "clip"), [("budget", do.Clip.BUDGET), ("max_minutes", do.Clip.LIMIT)])
async def test_a_call_at_a_limit_ends_with_a_sentence_about_the_limit(reason: str, clip: do.Clip) -> None:
    async with placed_call() as call:
        await call.type_and_answer()
        call.live.hang_up(reason)
        await settle()
        assert not call.task.done() and any(call.transport.tick(10))
        await call.play_out(500)
        assert await call.task == reason
        assert call.events_of("transcript")[-1]["content"] == do.CLIP_WORDS[clip]


@pytest.fixture
def short_goodbye(monkeypatch: pytest.MonkeyPatch) -> None:
    """A goodbye that is not heard to its end, as after a reply that was cut, takes no five seconds."""
    monkeypatch.setattr(ending, "GOODBYE_WITHIN_S", 0.2)


@pytest.mark.parametrize("end", ["already over", "finished", "interrupted"])
@pytest.mark.usefixtures("short_goodbye")
async def test_a_limit_during_an_answer_lets_it_end_and_requests_no_other(end: str) -> None:
    async with placed_call() as call:
        await call.ask()
        if end == "already over":
            await call.finish_reply()
        call.live.hang_up("max_minutes")
        await call.play_out(3)
        assert not call.done(do.CancelReply), "the answer was cut"
        if end == "interrupted":
            call.session.live_call().type_text("and what about tomorrow?")
            await settle()
        elif end == "finished":
            await call.finish_reply()
        await call.play_out(9)
        assert call.events_of("transcript")[-1]["content"] == do.CLIP_WORDS[do.Clip.LIMIT]
        await call.play_out(500)
        assert await call.task == "max_minutes"
        assert len(call.responder.requests) == 1


@pytest.mark.usefixtures("short_goodbye")
async def test_an_endless_answer_is_cut_at_a_limit() -> None:
    limits = TurnLimits(idle_nudge_s=0, idle_disconnect_s=0, last_reply_within_s=0.05)
    async with placed_call(limits=limits) as call:
        await call.ask()
        call.live.hang_up("max_minutes")
        await until(lambda: call.events_of("transcript")[-1]["content"] == do.CLIP_WORDS[do.Clip.LIMIT], 20)
        await call.play_out(500)
        assert await call.task == "max_minutes"


@pytest.mark.document("001", "silence")
async def test_silence_leads_to_a_nudge_and_then_to_a_goodbye() -> None:
    async with placed_call(limits=TurnLimits(idle_nudge_s=0.1, idle_disconnect_s=0.6)) as call:
        async with asyncio.timeout(20):
            for number in (1, 2):
                await until(lambda: len(call.responder.requests) == number)  # noqa: B023 - evaluated before the next round
                await call.begin_reply()
                await call.finish_reply()
                await call.play_out()
            assert await call.task == "idle"
    assert [request.purpose for request in call.responder.requests] == [do.Purpose.NUDGE, do.Purpose.GOODBYE]
    idle = [event.type for event in call.events if event.type.startswith("session_idle")]
    assert idle == ["session_idle_nudge", "session_idle_disconnect"]


async def test_an_ending_call_refuses_text() -> None:
    async with placed_call() as call:
        live = call.live
        live.hang_up("deleted")
        with pytest.raises(BadRequest):
            live.type_text("too late")


async def test_an_ended_call_leaves_no_task() -> None:
    before = holdings()
    async with placed_call(thinkers=thinkers(slow=_never)) as call:
        call.session.live_call().type_text("hello")
        await call.call_thinker("slow", "why")
        assert call.events_of("thinker")
        call.transport.finish()
        await call.task
    await settle()
    assert holdings().tasks <= before.tasks  # one of an earlier test may have ended meanwhile


async def _never(_: ThinkerRun) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError
