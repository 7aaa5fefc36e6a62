"""Faults in a call: it ends in order, or continues without the part that failed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from backend.errors import MediaFailed
from backend.responders.base import PastMessage
from backend.storage.memory import MemoryJob
from backend.storage.messages import Message, StoredCall
from backend.testing.memory import FakeMemory
from backend.turns import events as ev
from backend.turns.events import ReplyStatus
from backend.turns.limits import TurnLimits
from backend.turns.turn import TurnMachine
from tests.call.world import PlacedCall, placed_call, settle
from tests.support.leaks import holdings


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError("a fault")


async def of_the_uplink(call: PlacedCall, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(call.responder, "send_audio", broken)
    await call.speak(1)


async def of_a_request(call: PlacedCall, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(call.responder, "send", broken)
    call.session.live_call().type_text("hello")


async def of_the_transports_clock(call: PlacedCall, patch: pytest.MonkeyPatch) -> None:
    await call.ask()
    await call.finish_reply()
    patch.setattr(call.session.transcript, "_entry", broken)
    assert call.transport.tick(20) == bytes(960)


async def of_a_deadline(call: PlacedCall, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(call.responder, "send", broken)


async def of_naming_a_deadline(call: PlacedCall, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TurnMachine, "deadline", broken)
    call.session.live_call().type_text("hello")


@pytest.mark.parametrize(
    "fault", [of_the_uplink, of_a_request, of_the_transports_clock, of_a_deadline, of_naming_a_deadline]
)
async def test_a_fault_ends_the_call_as_an_error(
    fault: Callable[[PlacedCall, pytest.MonkeyPatch], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = holdings().tasks
    idle_s = 0.02 if fault is of_a_deadline else 0
    async with placed_call(limits=TurnLimits(idle_nudge_s=idle_s, idle_disconnect_s=0)) as call:
        await fault(call, monkeypatch)
        await call.crashed()
    await settle()
    assert holdings().tasks <= before


async def test_a_fault_in_the_downlink_ends_the_call_as_an_error() -> None:
    async with placed_call(brief=broken) as call:
        await call.crashed()


@pytest.mark.parametrize(("status", "reason"), [("failed", "server_error"), ("incomplete", "max_output_tokens")])
async def test_a_failed_reply_is_shown_counted_and_logged_without_its_words(
    status: ReplyStatus, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with placed_call() as call:
        await call.ask(says="my secret is")
        call.responder.say(ev.ReplyFinished(f"r-{call.responder.requests[-1].request}", status, reason))
        await settle()
        [shown] = call.events_of("reply_failed")
        assert (shown["status"], shown["reason"], shown["remedy"]) == (status, reason, "continued")
        labels = {"status": status, "remedy": "continued"}
        assert call.line.metrics.registry.get_sample_value("voice_replies_failed_total", labels) == 1
    [line] = [record.getMessage() for record in caplog.records if "did not come whole" in record.getMessage()]
    assert status in line and "secret" not in line


async def test_a_call_goes_on_without_memory() -> None:
    def keep(_job: MemoryJob) -> None:
        raise RuntimeError("full")

    async with placed_call(enqueue=keep) as call:
        await call.type_and_answer()
        await call.type_and_answer("again")
        call.transport.finish()
        assert await call.task == "disconnected"
    assert not call.events_of("error") and call.transport.closed


async def test_a_cancelled_call_still_cleans_up() -> None:
    async with placed_call() as call:
        call.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call.task
        assert call.transport.closed and call.responder.closed and call.jobs


async def test_a_call_continues_a_typed_conversation() -> None:
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
        assert call.events_of("session_started")[0]["conversation_id"] == "c1"
        await call.type_and_answer()
        for job in call.jobs:
            await job(memory)
    said = await memory.recent_messages("ada", "c1")
    assert [(one.content, one.source_mode) for one in said[-2:]] == [
        ("hello", "voice"),
        ("one two three four", "voice"),
    ]


async def test_a_call_without_its_earlier_conversation_reports_it_to_the_page() -> None:
    memory = FakeMemory()
    async with placed_call(remembering=memory, conversation="c1") as call:
        assert call.events_of("session_started")[0]["history"] == "kept"

    async def slow(_user: str, _conversation: str) -> None:
        return None

    async with placed_call(conversation="c1", earlier=slow) as call:
        assert call.histories == [[]]
        assert call.events_of("session_started")[0]["history"] == "unavailable"


async def test_a_new_conversation_reads_nothing_from_memory() -> None:
    async def never(_user: str, _conversation: str) -> None:
        raise AssertionError

    async with placed_call(earlier=never) as call:
        assert call.session.conversation_id and call.histories == [[]]


async def test_every_step_of_the_clean_up_runs_even_if_others_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    async with placed_call() as call:
        for owner, step in (
            (call.live.parts.tool_calls, "close"),
            (call.transport, "close"),
            (call.live.parts.observers._learner, "close"),
            (call.live.parts.observers._post_turn, "close"),
        ):
            monkeypatch.setattr(owner, step, broken)
        call.transport.finish(None)
        assert await call.task == "disconnected"
        assert call.session.call is None
        assert call.ended("disconnected") == 1 and call.jobs, "the call was not counted and stored"


async def test_a_fault_in_the_audio_path_ends_the_call_with_an_error_on_the_page() -> None:
    async with placed_call() as call:
        call.transport.finish(MediaFailed("This call's audio failed (ValueError)."))
        async with asyncio.timeout(20):
            assert await call.task == "error"
        await settle()
        assert call.events_of("error")[-1] == {
            "message": "This call's audio failed (ValueError).",
            "hint": "Call again; the server's log says why.",
            "problem": "call_failed",
        }
