"""One call's shell before the Responder is there, and when it is lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from backend.call import responder_link
from backend.errors import ResponderRejected, ResponderUnavailable
from backend.responders.base import PastMessage
from backend.responders.openai_models import capabilities_of
from backend.testing.responder import ScriptedResponder
from backend.turns import commands as do
from tests.call.world import placed_call, settle
from tests.support.waiting import until


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
        await call.type_and_answer()
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        assert [first.closed for first in call.responders] == [True, False]
        assert call.histories[1] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        await call.type_and_answer("again")
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
        await call.ask()
        await call.finish_reply()
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        await call.play_out()
        await until(lambda: len(call.responders) == 2)
        assert call.histories[1] == [PastMessage("user", "hello")]
        assert call.histories[2] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        assert call.done(do.AddNote) == []


async def test_what_is_heard_during_the_reconnection_is_told_to_the_new_line() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(ScriptedResponder(), line_is_free) as call:
        await call.ask()
        await call.finish_reply()
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        await call.play_out()
        line_is_free.set()
        await settle()
        [note] = call.done(do.AddNote)
        assert note.text.endswith("heard you say: one two three four")


async def test_a_responder_that_cannot_be_reached_ends_the_call_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "PAUSES_S", (0.01,))
    monkeypatch.setattr(responder_link, "SPREAD_S", 0.0)
    monkeypatch.setattr(responder_link, "RECONNECT_S", 0.1)
    async with placed_call(*[ResponderUnavailable("busy")] * 100) as call:
        await until(lambda: bool(call.events_of("error")))
        assert 2 < len(call.histories) < 50
        assert any(map(any, (call.transport.tick(1) for _ in range(20)))), "something is said"
        call.transport.tick(1000)
        async with asyncio.timeout(1):
            assert await call.task == "responder_gone"
    assert call.events_of("error") and not call.events_of("session_started")


async def test_a_caller_who_comes_while_nobody_can_be_reached_is_told_so_and_then_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(responder_link, "LATE_AFTER_S", 0.05)
    async with placed_call(ResponderUnavailable("busy")) as call:
        call.session.live_call().type_text("hello")
        await until(lambda: bool(call.events_of("responder_changed")))
        assert call.events_of("responder_changed")[0]["state"] == "lost"
        assert "cannot be reached yet" in call.events_of("error")[0]["message"]
        await until(lambda: len(call.responders) == 1)
        await settle()
        assert [data["state"] for data in call.events_of("responder_changed")] == ["lost", "connected"]
        assert call.done(do.AddUserText) == [do.AddUserText("hello")] and len(call.responder.requests) == 1


async def test_a_responder_that_refuses_us_is_not_asked_again() -> None:
    async with placed_call(ResponderRejected("bad key"), ScriptedResponder()) as call:
        assert len(call.histories) == 1
        call.transport.tick(1000)
        assert await call.task == "responder_refused"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "RENEW_LOOK_S", 0.01)
    monkeypatch.setattr(responder_link, "GO_BACK_EVERY_S", 0.01)


def lasting(seconds: float) -> ScriptedResponder:
    """A connection that its provider ends so soon."""
    return ScriptedResponder(replace(capabilities_of("gpt-realtime-2"), session_s=seconds))


@pytest.mark.usefixtures("quick")
async def test_before_a_provider_ends_the_connection_the_call_goes_over_to_a_new_one_unheard() -> None:
    async with placed_call(lasting(0.2), lasting(0.2)) as call:
        await call.ask()
        await call.finish_reply()
        await call.play_out()
        first = call.responder
        await until(lambda: len(call.responders) == 2)
        await until(lambda: first.closed)
        assert call.histories[1] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        assert call.events_of("responder_changed") == [] and call.events_of("error") == []
        call.session.live_call().type_text("go on")
        await settle()
        assert [len(each.requests) for each in (first, call.responder)] == [1, 1]
        await call.begin_reply()
        await call.finish_reply()
        await call.play_out()
        await until(lambda: len(call.responders) == 3)


@pytest.mark.usefixtures("quick")
async def test_a_connection_is_not_renewed_while_something_is_said_or_owed() -> None:
    async with placed_call(lasting(0.1)) as call:
        await call.ask()
        await asyncio.sleep(0.3)
        assert len(call.responders) == 1
        await call.finish_reply()
        await call.play_out()
        await until(lambda: len(call.responders) == 2)


@pytest.mark.usefixtures("quick")
async def test_where_no_new_connection_can_be_made_the_old_one_is_kept() -> None:
    async with placed_call(lasting(0.1), ResponderUnavailable("busy"), ScriptedResponder()) as call:
        first = call.responder
        await until(lambda: len(call.histories) >= 2)
        assert not first.closed and call.events_of("error") == []
        await until(lambda: first.closed)
        assert len(call.responders) == 2
