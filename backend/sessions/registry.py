"""The sessions of this process: their owners, their limit, and the task of each call."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from backend.errors import BadRequest, NotFound, NotOwner, Overloaded, TooMany, TransportLost
from backend.page_events import SessionEnded
from backend.runtime.supervisor import cancel_all
from backend.sessions.event_log import PageMessage
from backend.sessions.session import Session, SessionDescription, SessionRequest, SessionState
from backend.transports.base import Transport

log = logging.getLogger(__name__)

KEEP_ENDED_S = 600
"""Seconds for which an ended session can still be read."""
CONNECT_WITHIN_S = 15
"""Seconds for which a reserved session waits for its transport."""
END_WITHIN_S = 8
"""Seconds in which a call must end by itself before it is cancelled."""
NO_SESSION_HINT = "It may have ended. Connect again."


class CallerLeft(Exception):
    """The client that made an offer has left."""


class Watcher:
    """The base of watchers, which are called for every change of a session and may neither wait nor raise."""

    def on_change(self, session: Session) -> None:
        """Note a session that is new, or has changed its state."""

    def on_removal(self, session: Session) -> None:
        """Note a session that was removed here, or has moved to another process."""


ANSWER_WITHIN_S = 10
"""The most seconds of answering an offer, of which gathering through a slow STUN server takes most."""

AcceptOffer = Callable[[str], Awaitable[tuple[str, Transport]]]
"""SDP offer → (SDP answer, the transport it begins). Raises `BadOffer` or `TooMany`."""
RunCall = Callable[[Session, Transport], Awaitable[str]]
"""Runs a whole call and returns the reason of its end; sets and clears `session.call`; closes the transport."""


class SessionRegistry:
    """Opens, finds and ends sessions. `cap` 0 means no limit."""

    def __init__(
        self,
        run_call: RunCall,
        *,
        cap: int,
        responder: str,
        interruptions: bool = True,
        on_lapse: Callable[[], None] = lambda: None,
        on_ended: Callable[[str], None] = lambda session_id: None,
        admit: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_lapse` is called for every reservation that expires, `on_ended` with the id of every ended session.

        `admit` may raise `TooMany`.
        """
        self._run_call = run_call
        self._on_lapse = on_lapse
        self._on_ended = on_ended
        self._admit = admit
        self.watcher = Watcher()
        """The watcher of all sessions."""
        self._cap = cap
        self._responder = responder
        self._interruptions = interruptions
        self._sessions: dict[str, Session] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.closing = False
        """True when no new session is opened."""

    @property
    def live(self) -> int:
        """The number of sessions that are not ended."""
        return sum(session.state is not SessionState.ENDED for session in self._sessions.values())

    def reserve(self, asked: SessionRequest) -> Session:
        """Return a new session, which must be connected within 15 s. Raises `TooMany` at a limit."""
        if self.closing:
            raise Overloaded(
                "The server is shutting down.", retry_after_s=10, hint="Try again: another server may answer."
            )
        if self._cap and self.live >= self._cap:
            raise TooMany("All lines are busy.", retry_after_s=15, hint="Try again shortly, or raise SESSION_CAP.")
        self._admit()
        return self.adopt(asked)

    def connect(self, session: Session, transport: Transport, kind: str) -> None:
        """Start the call of a reserved session over `transport`, in a task of this registry."""
        self._end_reservation(session)
        session.transport = kind
        session.state = SessionState.LIVE
        self.watcher.on_change(session)
        self._tasks[session.id] = asyncio.create_task(self._run(session, transport), name=f"call {session.id[:6]}")

    async def answer(
        self,
        session: Session,
        accept_offer: AcceptOffer,
        sdp: str,
        has_left: Callable[[], Awaitable[bool]] | None = None,
    ) -> str:
        """Start the call of a reserved session, and return the SDP answer; a failure or cancellation ends the session.

        Raises `CallerLeft` if the client that made the offer has left.
        """
        transport = None
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                answer, transport = await accept_offer(sdp)
            if has_left is not None and await has_left():
                raise CallerLeft
            self.connect(session, transport, "webrtc")
        except BaseException as error:
            await self.end(session, "never_connected" if isinstance(error, CallerLeft) else "error")
            if transport is not None:
                await transport.close()
            if isinstance(error, TimeoutError):
                raise TransportLost("The connection could not be prepared in time.", hint="Try again.") from error
            raise
        return answer

    def hand_over(self, session: Session) -> SessionRequest:
        """Release a reserved session, for another process to `adopt`. Raises `BadRequest` if it is connected."""
        self._end_reservation(session)
        self._forget(session)
        session.event_log.close()
        return session.asked

    def adopt(self, asked: SessionRequest) -> Session:
        """Take over a reserved session that another process has admitted and released."""
        if asked.interruptions is None:
            asked = replace(asked, interruptions=self._interruptions)
        session = Session(asked, self._responder)
        self._sessions[session.id] = session
        self._later(session, CONNECT_WITHIN_S, self._expire_reservation)
        self.watcher.on_change(session)
        return session

    def find(self, session_id: str) -> Session:
        """Return the session, live or lately ended. Raises `NotFound`."""
        if session := self._sessions.get(session_id):
            return session
        raise no_session()

    def owned_by(self, owner: str) -> list[Session]:
        """Return the owner's sessions, newest first."""
        return sorted((s for s in self._sessions.values() if s.owner == owner), key=lambda s: -s.opened_at)

    def show(self, owner: str, message: PageMessage) -> None:
        """Send `message` to the page through each of the owner's live sessions in this process."""
        for session in self.owned_by(owner):
            if session.state is SessionState.LIVE:
                session.event_log.append(message)

    def newest(self, count: int) -> list[SessionDescription]:
        """Return descriptions, with `owner`, of the live sessions, then of those lately ended, each newest first."""
        ended_last = sorted(self._sessions.values(), key=lambda s: (s.state is SessionState.ENDED, -s.opened_at))
        return [{**session.describe(), "owner": session.owner} for session in ended_last[:count]]

    async def end(self, session: Session, reason: str) -> None:
        """End a session, by force after 8 s; do nothing if it has ended already."""
        task = self._tasks.get(session.id)
        if task is None:
            self._ended(session, reason)
            return
        await asyncio.sleep(0)  # a task just created has not set its call yet
        if session.call is not None:
            session.call.hang_up(reason)
            await asyncio.wait([task], timeout=END_WITHIN_S)
        if not task.done():
            session.ended_reason = reason
            await cancel_all([task], within_s=END_WITHIN_S)

    async def wait(self, session: Session) -> None:
        """Wait until the session's call is over. Cancelling the waiter does not end the call."""
        if task := self._tasks.get(session.id):
            await asyncio.wait([task])

    def forget(self, session: Session) -> None:
        """Drop an ended session before its ten minutes are over; readers still get all of its events."""
        if session.state is SessionState.ENDED:
            if timer := self._timers.get(session.id):
                timer.cancel()
            self._forget(session)

    async def drain(self, within_s: float) -> None:
        """Open no new sessions, and wait `within_s` seconds for the present ones to end by themselves."""
        self.closing = True
        if self._tasks and within_s:
            await asyncio.wait(self._tasks.values(), timeout=within_s)

    async def close(self, reason: str = "shutdown") -> None:
        """End all sessions in parallel, and refuse new ones."""
        self.closing = True
        await asyncio.gather(*(self.end(session, reason) for session in list(self._sessions.values())))
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _end_reservation(self, session: Session) -> None:
        if session.state is not SessionState.RESERVED or session.id in self._tasks:
            raise BadRequest("This session already has, or had, a transport.", hint="Start a new session.")
        self._timers.pop(session.id).cancel()

    async def _run(self, session: Session, transport: Transport) -> None:
        reason = "error"
        try:
            reason = await self._run_call(session, transport)
        except asyncio.CancelledError:
            reason = session.ended_reason or "error"
            raise
        except Exception:
            log.exception("call %s failed", session.id[:6])
        finally:
            session.call = None
            self._tasks.pop(session.id, None)
            self._ended(session, reason)

    def _ended(self, session: Session, reason: str) -> None:
        if session.state is SessionState.ENDED:
            return
        session.state = SessionState.ENDED
        session.ended_at = time.time()
        session.ended_reason = reason
        self._on_ended(session.id)
        session.event_log.publish(SessionEnded(reason))
        session.event_log.close()
        self.watcher.on_change(session)
        self._later(session, KEEP_ENDED_S, self._forget)

    def _later(self, session: Session, seconds: float, then: Callable[[Session], None]) -> None:
        if timer := self._timers.pop(session.id, None):
            timer.cancel()
        self._timers[session.id] = asyncio.get_running_loop().call_later(seconds, then, session)

    def _expire_reservation(self, session: Session) -> None:
        self._ended(session, "never_connected")
        self._on_lapse()

    def _forget(self, session: Session) -> None:
        self._timers.pop(session.id, None)
        self._sessions.pop(session.id, None)
        self.watcher.on_removal(session)


def no_session() -> NotFound:
    """Return the answer to requests for sessions that do not exist."""
    return NotFound("No such session.", hint=NO_SESSION_HINT)


def not_their_session() -> NotOwner:
    """Return the answer to requests for another user's session: it has the same words."""
    return NotOwner("No such session.", hint=NO_SESSION_HINT)
