"""Handles to sessions, wherever their calls live: in this process, or in another one that shares the load with it.

Routes hold a `Handle` and never ask where. One process by itself has a `LocalSessions`; several have a `Cluster`
(`cluster/`), which answers for its own sessions in the same way and asks the others for theirs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol, TypedDict

from backend.errors import BadRequest, NotFound
from backend.sessions.event_log import LoggedEvent
from backend.sessions.registry import Session, SessionDescription, SessionRegistry, SessionState
from backend.sessions.transcript import TranscriptEntry

NO_SESSION = "No such session."
NO_SESSION_HINT = "It may have ended; connect again."


class PlacedCall(TypedDict):
    """A call that another process has answered."""

    sdp: str
    session_id: str
    conversation_id: str


class Handle(Protocol):
    """A session as routes use it. Every method may raise a `VoiceError`."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def owner(self) -> str:
        """The user it belongs to."""

    async def describe(self) -> SessionDescription:
        """Return what `GET /api/sessions/{id}` shows."""

    async def transcript(self) -> list[TranscriptEntry]:
        """Return what was said, oldest first."""

    async def type_text(self, text: str) -> None:
        """Typed input. Raises `BadRequest` unless the call is live."""

    async def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound`, or `BadRequest` when it or the call is over."""

    async def say_answer(self, call: str) -> None:
        """Speak an answer that came too late. Raises `NotFound`, or `BadRequest` where there is none."""

    async def end(self, reason: str) -> None:
        """End the call in order. Does nothing to one already ended."""

    async def forget(self) -> None:
        """Drop an ended session before its time."""

    async def is_read(self, after: int) -> bool:
        """Return whether it is over and nothing is left to read beyond event `after`."""

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield events numbered above `after`, then new ones until the end, as `EventLog.follow` does."""


class SessionLocator(Protocol):
    """Finds sessions, in whichever process they are."""

    async def find(self, session_id: str) -> Handle:
        """Return a handle to the session, live or lately ended. Raises `NotFound`, or `MemoryUnavailable`."""

    async def owned_by(self, owner: str) -> list[Handle]:
        """Return handles to the owner's sessions, newest first."""

    async def announce(self, session: Session) -> None:
        """Have a new session known everywhere, before its id is given away. Never raises."""

    async def take(self, handle: Handle) -> Session:
        """Return a session to connect; one reserved in another process is handed over. Raises `NotFound`."""

    async def offer_to_peer(self, owner: str, sdp: str, conversation_id: str | None) -> PlacedCall | None:
        """Have another process answer an SDP offer that finds no room here; None when none has room."""

    async def newest(self, count: int) -> list[SessionDescription]:
        """Return descriptions, with `owner`, of all sessions that can be reached, live ones first."""

    async def metrics(self, own: str) -> str:
        """Return the page of metrics: `own` is this process's; those that share its port are added."""


class LocalHandle(Handle):
    """A session of this process."""

    def __init__(self, registry: SessionRegistry, session: Session) -> None:
        self._registry = registry
        self.session = session

    def __repr__(self) -> str:
        return f"LocalHandle({self.session!r})"

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def owner(self) -> str:
        return self.session.owner

    async def describe(self) -> SessionDescription:
        return self.session.describe()

    async def transcript(self) -> list[TranscriptEntry]:
        return list(self.session.transcript)

    async def type_text(self, text: str) -> None:
        self.session.type_text(text)

    async def cancel_thinker(self, call: str) -> None:
        self.session.live_call().cancel_thinker(call)

    async def say_answer(self, call: str) -> None:
        self.session.live_call().say_answer(call)

    async def end(self, reason: str) -> None:
        await self._registry.end(self.session, reason)

    async def forget(self) -> None:
        self._registry.forget(self.session)

    async def is_read(self, after: int) -> bool:
        if self.session.state is not SessionState.ENDED:
            return False
        async with aclosing(self.session.event_log.read(after)) as events:
            return await anext(events, None) is None

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        return self.session.event_log.follow(after, quiet_s)


class LocalSessions(SessionLocator):
    """The switchboard of a process that serves alone."""

    def __init__(self, registry: SessionRegistry) -> None:
        self._registry = registry

    def __repr__(self) -> str:
        return f"LocalSessions({self._registry!r})"

    async def find(self, session_id: str) -> Handle:
        return LocalHandle(self._registry, self._registry.find(session_id))

    async def owned_by(self, owner: str) -> list[Handle]:
        return [LocalHandle(self._registry, session) for session in self._registry.owned_by(owner)]

    async def announce(self, session: Session) -> None:
        """Have a new session known everywhere, before its id is given away. Never raises."""

    async def take(self, handle: Handle) -> Session:
        return here(handle)

    async def offer_to_peer(self, owner: str, sdp: str, conversation_id: str | None) -> PlacedCall | None:
        return None

    async def newest(self, count: int) -> list[SessionDescription]:
        return newest_of(self._registry, count)

    async def metrics(self, own: str) -> str:
        return own


def newest_of(registry: SessionRegistry, count: int) -> list[SessionDescription]:
    """Return descriptions, with `owner`, of the newest sessions of one process."""
    return [{**session.describe(), "owner": session.owner} for session in registry.newest(count)]


def session_here(handle: Handle) -> Session | None:
    """Return the session itself, if it lives in this process."""
    return handle.session if isinstance(handle, LocalHandle) else None


def here(handle: Handle) -> Session:
    """Return the session itself, which must live in this process. Raises `BadRequest`."""
    session = session_here(handle)
    if session is None:
        raise BadRequest("This session lives in another process.", hint="Ask again.")
    return session


def no_session() -> NotFound:
    """Return the one answer to requests for sessions that do not exist, or belong to somebody else."""
    return NotFound(NO_SESSION, hint=NO_SESSION_HINT)
