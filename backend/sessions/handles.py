"""Handles to sessions of this process, or of another process that shares the load with it.

Routes use a `SessionHandle` and need not know where the session is. A single process has a `SessionLocator`; several
processes have the locator of an extension, which asks the others for their sessions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import TypedDict

from backend.errors import BadRequest
from backend.observability.call_metrics import CallMetrics
from backend.sessions.event_log import LoggedEvent
from backend.sessions.registry import AcceptOffer, SessionRegistry, no_session
from backend.sessions.session import Session, SessionDescription, SessionRequest, SessionState, TranscriptEntry
from backend.sessions.sideband import Send, SharedProtocol, Sideband


class CallLocation(TypedDict):
    """A call that another process has answered."""

    sdp: str
    session_id: str
    conversation_id: str


class SessionHandle:
    """A session of this process, as routes use it; an extension derives one of another process from it.

    Every method may raise a `VoiceError`.
    """

    here: Session | None = None
    """The session itself, if it lives in this process."""

    def __init__(self, registry: SessionRegistry, session: Session) -> None:
        self._sessions = registry
        self._session = self.here = session
        self.id, self.owner = session.id, session.owner

    async def describe(self) -> SessionDescription:
        """Return what `GET /api/sessions/{id}` shows."""
        return self._session.describe()

    async def transcript(self) -> list[TranscriptEntry]:
        """Return the session's transcript, oldest entry first."""
        return list(self._session.transcript)

    async def type_text(self, text: str, pictures: Sequence[str] = (), *, shared: bool = False) -> None:
        """Put typed words into the conversation; `shared`: their writer has only the session's token.

        Raises `BadRequest` unless the call is live.
        """
        if shared:
            self._session.share()
        self._session.live_call().type_text(text, pictures)

    async def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound`, or `BadRequest` if it or the voice call is over."""
        self._session.live_call().cancel_thinker(call)

    async def say_answer(self, call: str) -> None:
        """Speak a late answer as soon as the floor is free. Raises `NotFound`, or `BadRequest` if there is none."""
        self._session.live_call().say_answer(call)

    async def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice may interrupt replies. Raises `BadRequest` unless the call is live."""
        self._session.live_call().allow_interruptions(allowed)

    async def record(self, on: bool) -> str:
        """Begin or stop recording the call; return the recording's id.

        Raises `BadRequest` unless the call is live and may be recorded, and `Forbidden` if others take part.
        """
        return self._session.live_call().record(on)

    async def open_sideband(self, send: Send) -> Sideband:
        """Let a program follow the call beside its client; `send` gets the call's events from now on.

        Raises `NotFound` unless the call is live and others may follow its protocol, and `TooMany`.
        """
        protocol: object = self._session.follower
        if self._session.call is None or not isinstance(protocol, SharedProtocol):
            raise no_session()
        return Sideband(protocol, send, lambda: self._sessions.wait(self._session))

    async def end(self, reason: str) -> None:
        """End the call; do nothing if it has ended already."""
        await self._sessions.end(self._session, reason)

    async def forget(self) -> None:
        """Drop an ended session now instead of after `KEEP_ENDED_S` seconds."""
        self._sessions.forget(self._session)

    async def is_read(self, after: int) -> bool:
        """Return whether the session is over and has no events after number `after`."""
        if self._session.state is not SessionState.ENDED:
            return False
        async with aclosing(self._session.event_log.read(after)) as events:
            return await anext(events, None) is None

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield events numbered above `after`, then new ones until the end, as `EventLog.follow` does."""
        return self._session.event_log.follow(after, quiet_s)


class SessionLocator:
    """Finds the sessions of a process that serves alone; an extension's locator finds those of all processes."""

    def __init__(self, sessions: SessionRegistry) -> None:
        self._sessions = sessions

    async def find(self, session_id: str) -> SessionHandle:
        """Return a handle to the session, live or lately ended. Raises `NotFound`, or `MemoryUnavailable`."""
        return SessionHandle(self._sessions, self._sessions.find(session_id))

    async def owned_by(self, owner: str) -> list[SessionHandle]:
        """Return handles to the owner's sessions, newest first."""
        return [SessionHandle(self._sessions, session) for session in self._sessions.owned_by(owner)]

    async def announce(self, session: Session) -> None:
        """Make a new session known to all processes, before its id is given to a caller. Never raises."""

    async def take(self, handle: SessionHandle) -> Session:
        """Return a session to connect; a session reserved in another process is moved here. Raises `NotFound`."""
        if handle.here is None:
            raise BadRequest("This session is in another process.", hint="Send the request again.")
        return handle.here

    async def offer_to_peer(self, sdp: str, asked: SessionRequest) -> CallLocation | None:
        """Let another process answer an SDP offer for which there is no room here; return None if none has room."""
        return None

    async def newest(self, count: int) -> list[SessionDescription]:
        """Return descriptions, with `owner`, of all sessions that can be reached, live ones first."""
        return self._sessions.newest(count)

    async def metrics(self, own: str) -> str:
        """Return the page of metrics: `own` of this process, with those of processes that share its port."""
        return own


@dataclass(frozen=True, slots=True)
class CallsHere:
    """The calls of this process, for locators of several processes."""

    registry: SessionRegistry
    accept_offer: AcceptOffer
    load: Callable[[], tuple[float, bool]]
    """Returns the load of this process, 0 to 1, and whether it accepts another call."""
    metrics: CallMetrics


OpenLocator = Callable[[CallsHere], AbstractAsyncContextManager[SessionLocator]]
"""Opens a locator that finds the sessions of other processes, too."""
