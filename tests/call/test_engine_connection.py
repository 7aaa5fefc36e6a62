"""The call engine while it connects the Responder, and after it has lost the connection."""

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


async def test_words_from_before_the_connection_reach_the_responder() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(line_is_free) as call:
        call.session.live_call().type_text("hello")
        await call.speak(10, then_silent=3)
        line_is_free.set()
        await settle()
        assert call.done(do.AddUserText) == [do.AddUserText("hello")]
        assert len(call.responder.frames) == 10


async def test_a_lost_connection_is_made_again_with_the_history() -> None:
    async with placed_call() as call:
        await call.type_and_answer()
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        assert [first.closed for first in call.responders] == [True, False]
        assert call.histories[1] == [PastMessage("user", "hello"), PastMessage("assistant", "one two three four")]
        await call.type_and_answer("again")
        assert call.done(do.AddUserText) == [do.AddUserText("again")]


async def test_text_typed_during_a_reconnection_reaches_the_new_connection() -> None:
    line_is_free = asyncio.Event()
    async with placed_call(ScriptedResponder(), line_is_free) as call:
        call.responder.fail(ResponderUnavailable("broken"))
        await settle()
        call.session.live_call().type_text("are you there")
        line_is_free.set()
        await settle()
        assert call.histories[1] == []
        assert call.responder.commands == [do.AddUserText("are you there"), call.responder.requests[0]]


async def test_each_attempt_to_connect_gets_the_history_up_to_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "PAUSES_S", (1.0,))
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


async def test_words_heard_during_a_reconnection_reach_the_new_connection() -> None:
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


async def test_an_unreachable_responder_ends_the_call_with_a_spoken_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "PAUSES_S", (0.03,))
    monkeypatch.setattr(responder_link, "SPREAD_S", 0.0)
    monkeypatch.setattr(responder_link, "RECONNECT_S", 0.6)
    async with placed_call(*[ResponderUnavailable("busy")] * 100) as call:
        await until(lambda: bool(call.events_of("error")))
        assert 2 < len(call.histories) < 50
        assert any(map(any, (call.transport.tick(1) for _ in range(20)))), "nothing was spoken"
        call.transport.tick(1000)
        async with asyncio.timeout(20):
            assert await call.task == "responder_gone"
    assert call.events_of("error") and not call.events_of("session_started")


async def test_a_caller_during_an_outage_sees_an_error_and_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(responder_link, "LATE_AFTER_S", 0.05)
    async with placed_call(ResponderUnavailable("busy")) as call:
        call.session.live_call().type_text("hello")
        await until(lambda: bool(call.events_of("responder_changed")))
        assert call.events_of("responder_changed")[0]["state"] == "lost"
        assert call.events_of("error")[0]["message"]
        await until(lambda: len(call.responders) == 1)
        await settle()
        assert [data["state"] for data in call.events_of("responder_changed")] == ["lost", "connected"]
        assert call.done(do.AddUserText) == [do.AddUserText("hello")] and len(call.responder.requests) == 1


async def test_a_responder_that_refuses_the_key_is_not_asked_again() -> None:
    async with placed_call(ResponderRejected("bad key"), ScriptedResponder()) as call:
        assert len(call.histories) == 1
        call.transport.tick(1000)
        assert await call.task == "responder_refused"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "RENEW_LOOK_S", 0.01)
    monkeypatch.setattr(responder_link, "GO_BACK_EVERY_S", 0.01)


def lasting(seconds: float) -> ScriptedResponder:
    """Return a connection that its provider ends after these seconds."""
    return ScriptedResponder(replace(capabilities_of("gpt-realtime-2"), session_s=seconds))


@pytest.mark.usefixtures("quick")
async def test_a_connection_is_replaced_between_turns_before_its_provider_ends_it() -> None:
    async with placed_call(lasting(0.6), lasting(0.6)) as call:
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
async def test_a_connection_is_not_replaced_during_a_turn() -> None:
    async with placed_call(lasting(0.4)) as call:
        await call.ask()
        await asyncio.sleep(0.8)
        assert len(call.responders) == 1
        await call.finish_reply()
        await call.play_out()
        await until(lambda: len(call.responders) == 2)


@pytest.mark.usefixtures("quick")
async def test_a_connection_is_kept_while_no_new_one_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_link, "GO_BACK_EVERY_S", 0.5)
    async with placed_call(lasting(0.4), ResponderUnavailable("busy"), ScriptedResponder()) as call:
        first = call.responder
        await until(lambda: len(call.histories) >= 2)
        assert not first.closed and call.events_of("error") == []
        await until(lambda: first.closed)
        assert len(call.responders) == 2
