"""The number of sessions, their time limits, and how each of them ends."""

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from backend.access.principal import CallerScope, ToolScope
from backend.errors import BadRequest, NotFound, TooMany
from backend.sessions import registry as directories
from backend.sessions.registry import SessionRegistry
from backend.sessions.session import LiveCall, Session, SessionRequest, SessionState
from backend.testing.transport import FakeTransport
from backend.transports.base import Transport
from tests.call.world import settle


class Calls:
    """Runs calls that do nothing until they are asked to end."""

    def __init__(self) -> None:
        self.reasons: dict[str, asyncio.Future[str]] = {}
        self.stubborn = False
        """Whether hanging up has no effect."""
        self.tidying = asyncio.Event()
        self.tidying.set()
        """While it is not set, calls that were asked to end still tidy up."""
        self.finished: list[str] = []

    async def run(self, session: Session, transport: Transport) -> str:
        self.reasons[session.id] = asyncio.get_running_loop().create_future()
        session.call = self.live(session.id)
        try:
            reason = await self.reasons[session.id]
            await self.tidying.wait()
            self.finished.append(session.id)
            return reason
        finally:
            await transport.close()

    def hang_up(self, session_id: str, reason: str) -> None:
        future = self.reasons[session_id]
        if not self.stubborn and not future.done():
            future.set_result(reason)

    def live(self, session_id: str) -> LiveCall:
        """A call that can only be ended."""
        return cast(LiveCall, SimpleNamespace(hang_up=partial(self.hang_up, session_id)))


def a_directory(cap: int = 0) -> tuple[SessionRegistry, Calls]:
    calls = Calls()
    return SessionRegistry(calls.run, cap=cap, responder="fake"), calls


async def connected(registry: SessionRegistry, owner: str = "ada") -> Session:
    session = registry.reserve(SessionRequest(owner))
    registry.connect(session, FakeTransport(), "webrtc")
    await settle()
    return session


async def last_words(session: Session) -> list[tuple[str, object]]:
    return [(event.type, event.data.get("reason")) async for event in session.event_log.read()]


async def test_reserved_sessions_count_against_the_cap_and_ended_ones_do_not() -> None:
    registry, _ = a_directory(cap=2)
    first, _second = registry.reserve(SessionRequest("ada")), await connected(registry)
    with pytest.raises(TooMany) as refused:
        registry.reserve(SessionRequest("bob"))
    assert refused.value.retry_after_s > 0
    await registry.end(first, "disconnected")
    registry.reserve(SessionRequest("bob"))
    await registry.close()


async def test_a_reservation_without_a_call_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "CONNECT_WITHIN_S", 0.01)
    lapsed: list[str] = []
    registry = SessionRegistry(Calls().run, cap=1, responder="fake", on_lapse=lambda: lapsed.append("lapsed"))
    session = registry.reserve(SessionRequest("ada"))
    assert await last_words(session) == [("session_ended", "never_connected")]
    assert lapsed == ["lapsed"]
    assert (session.state, registry.live) == (SessionState.ENDED, 0)
    await registry.close()


async def test_a_session_is_connected_only_once() -> None:
    registry, _ = a_directory()
    session = await connected(registry)
    with pytest.raises(BadRequest):
        registry.connect(session, FakeTransport(), "webrtc")
    await registry.end(session, "deleted")
    with pytest.raises(BadRequest):
        registry.connect(session, FakeTransport(), "webrtc")
    await registry.close()


async def test_a_call_that_ends_by_itself_ends_its_session() -> None:
    registry, calls = a_directory()
    session = await connected(registry)
    calls.reasons[session.id].set_result("idle")
    await registry.wait(session)
    assert await last_words(session) == [("session_ended", "idle")]
    assert (session.ended_reason, session.call) == ("idle", None)
    await registry.close()


async def test_a_call_that_crashes_ends_its_session_as_an_error() -> None:
    registry, calls = a_directory()
    session = await connected(registry)
    calls.reasons[session.id].set_exception(RuntimeError("a fault"))
    await registry.wait(session)
    assert session.describe()["ended_reason"] == "error"
    await registry.close()


async def test_ending_twice_is_harmless_and_the_first_reason_stays() -> None:
    registry, _ = a_directory()
    session = await connected(registry)
    await asyncio.gather(registry.end(session, "deleted"), registry.end(session, "disconnected"))
    await registry.end(session, "shutdown")
    assert session.ended_reason == "deleted"
    await registry.close()


async def test_ending_a_call_a_second_time_waits_for_its_cleanup() -> None:
    registry, calls = a_directory()
    calls.tidying.clear()
    session = await connected(registry)
    calls.reasons[session.id].set_result("idle")
    await settle()
    ending = asyncio.create_task(registry.end(session, "disconnected"))
    await settle()
    assert not ending.done()
    calls.tidying.set()
    await ending
    assert (session.ended_reason, calls.finished) == ("idle", [session.id])
    await registry.close()


async def test_a_call_that_is_ended_as_it_starts_ends_in_order() -> None:
    registry, calls = a_directory()
    session = registry.reserve(SessionRequest("ada"))
    transport = FakeTransport()
    registry.connect(session, transport, "webrtc")
    await registry.end(session, "deleted")
    assert (session.state, session.ended_reason, transport.closed) == (SessionState.ENDED, "deleted", True)
    assert calls.finished == [session.id]
    await registry.close()


async def test_a_call_that_does_not_end_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "END_WITHIN_S", 0.02)
    registry, calls = a_directory()
    calls.stubborn = True
    session = await connected(registry)
    await registry.end(session, "shutdown")
    assert (session.state, session.ended_reason) == (SessionState.ENDED, "shutdown")
    await registry.close()


async def test_cancelling_a_waiter_does_not_end_the_call() -> None:
    registry, _ = a_directory()
    session = await connected(registry)
    waiting = asyncio.create_task(registry.wait(session))
    await settle()
    waiting.cancel()
    await settle()
    assert session.state is SessionState.LIVE
    await registry.close()


async def test_closing_ends_all_sessions_and_refuses_new_ones() -> None:
    registry, _ = a_directory()
    sessions = [registry.reserve(SessionRequest("ada")), await connected(registry), await connected(registry, "bob")]
    await registry.close("shutdown")
    assert [session.ended_reason for session in sessions] == ["shutdown"] * 3
    with pytest.raises(TooMany):
        registry.reserve(SessionRequest("ada"))
    assert registry.live == 0


async def test_an_ended_session_can_be_read_for_a_while_and_is_then_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "KEEP_ENDED_S", 0.3)
    registry, _ = a_directory()
    session = await connected(registry)
    await registry.end(session, "deleted")
    assert registry.find(session.id) is session
    await asyncio.sleep(0.35)
    with pytest.raises(NotFound):
        registry.find(session.id)


async def test_forget_drops_only_ended_sessions() -> None:
    registry, _ = a_directory()
    session = await connected(registry)
    registry.forget(session)
    assert registry.find(session.id) is session
    await registry.end(session, "deleted")
    registry.forget(session)
    with pytest.raises(NotFound):
        registry.find(session.id)
    await registry.close()


async def test_a_sessions_interruptions_setting_overrides_the_registrys() -> None:
    for usual in (True, False):
        registry = SessionRegistry(Calls().run, cap=0, responder="fake", interruptions=usual)
        assert registry.reserve(SessionRequest("ada")).interruptions is usual
        assert registry.reserve(SessionRequest("ada", interruptions=not usual)).interruptions is not usual


async def test_a_session_keeps_its_request_in_another_process() -> None:
    registry, _ = a_directory()
    there = SessionRegistry(Calls().run, cap=0, responder="fake")
    asked = SessionRequest("ada", "c1", False, True, CallerScope(ToolScope.SIGNED_IN), "s1")
    adopted = there.adopt(registry.hand_over(registry.reserve(asked)))
    assert (adopted.id, adopted.owner, adopted.conversation_id) == ("s1", "ada", "c1")
    assert (adopted.interruptions, adopted.record, adopted.caller_scope) == (False, True, asked.caller_scope)
