"""A session wherever its call lives: in this process, or in another one that shares the load with it.

Routes hold a `Handle` and never ask where. One process by itself has a `LocalSwitchboard`; several have a `Cluster`
(`fleet/`), which answers for its own sessions in the same way and asks the others for theirs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from backend.errors import BadRequest, NotFound
from backend.sessions.event_log import LoggedEvent
from backend.sessions.registry import Directory, Session, SessionState

NO_SESSION = "No such session."
NO_SESSION_HINT = "It may have ended; connect again."


class Handle(Protocol):
    """What anybody may ask of a session. Every method may raise a `VoiceError`."""

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def owner(self) -> str:
        """The user it belongs to."""
        ...

    async def describe(self) -> dict[str, Any]:
        """What `GET /api/sessions/{id}` shows."""
        ...

    async def transcript(self) -> list[dict[str, Any]]:
        """What was said, oldest first."""
        ...

    async def type_text(self, text: str) -> None:
        """Typed input. Raises `BadRequest` unless the call is live."""
        ...

    async def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call. Raises `NotFound`, or `BadRequest` when it or the call is over."""
        ...

    async def say_answer(self, call: str) -> None:
        """Speak an answer that came too late. Raises `NotFound`, or `BadRequest` where there is none."""
        ...

    async def end(self, reason: str) -> None:
        """End the call in order. Does nothing to one already ended."""
        ...

    async def forget(self) -> None:
        """Drop an ended session before its time."""
        ...

    async def told(self, after: int) -> bool:
        """Whether it is over and nothing is left to read beyond event `after`."""
        ...

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Events numbered above `after`, then new ones until the end; see `Feed.follow`."""
        ...


class Switchboard(Protocol):
    """Finds sessions, wherever they are."""

    async def find(self, session_id: str) -> Handle:
        """The session, live or lately ended. Raises `NotFound`, or `MemoryUnavailable` when it cannot be known."""
        ...

    async def owned_by(self, owner: str) -> list[Handle]:
        """The owner's sessions, newest first."""
        ...

    async def announce(self, session: Session) -> None:
        """Have a new session known everywhere, before its id is given away. Never raises."""
        ...

    async def take(self, handle: Handle) -> Session:
        """A session to attach a transport to; one reserved elsewhere is handed over to us. Raises `NotFound`."""
        ...

    async def offer_elsewhere(self, offer: dict[str, Any]) -> dict[str, Any] | None:
        """Have another process answer an SDP offer that we have no room for; None when nobody has."""
        ...

    async def newest(self, count: int) -> list[dict[str, Any]]:
        """All sessions that can be reached, live ones first: their descriptions, and `owner` of each."""
        ...

    async def figures(self, own: str) -> str:
        """The page of metrics: `own` is this process's; those that share its port are added."""
        ...


class LocalHandle:
    """A session of this process."""

    def __init__(self, directory: Directory, session: Session) -> None:
        self._directory = directory
        self.session = session

    def __repr__(self) -> str:
        return f"LocalHandle({self.session!r})"

    @property
    def id(self) -> str:
        """See `Handle`."""
        return self.session.id

    @property
    def owner(self) -> str:
        """See `Handle`."""
        return self.session.owner

    async def describe(self) -> dict[str, Any]:
        """See `Handle`."""
        return self.session.describe()

    async def transcript(self) -> list[dict[str, Any]]:
        """See `Handle`."""
        return list(self.session.transcript)

    async def type_text(self, text: str) -> None:
        """See `Handle`."""
        self.session.type_text(text)

    async def cancel_thinker(self, call: str) -> None:
        """See `Handle`."""
        self.session.live_call().cancel_thinker(call)

    async def say_answer(self, call: str) -> None:
        """See `Handle`."""
        self.session.live_call().say_answer(call)

    async def end(self, reason: str) -> None:
        """See `Handle`."""
        await self._directory.end(self.session, reason)

    async def forget(self) -> None:
        """See `Handle`."""
        self._directory.forget(self.session)

    async def told(self, after: int) -> bool:
        """See `Handle`."""
        if self.session.state is not SessionState.ENDED:
            return False
        async with aclosing(self.session.event_log.read(after)) as events:
            return await anext(events, None) is None

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """See `Handle`."""
        return self.session.event_log.follow(after, quiet_s)


class LocalSwitchboard:
    """All sessions are here."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __repr__(self) -> str:
        return f"LocalSwitchboard({self._directory!r})"

    async def find(self, session_id: str) -> Handle:
        """See `Switchboard`."""
        return LocalHandle(self._directory, self._directory.find(session_id))

    async def owned_by(self, owner: str) -> list[Handle]:
        """See `Switchboard`."""
        return [LocalHandle(self._directory, session) for session in self._directory.owned_by(owner)]

    async def announce(self, session: Session) -> None:
        """See `Switchboard`."""

    async def take(self, handle: Handle) -> Session:
        """See `Switchboard`."""
        return here(handle)

    async def offer_elsewhere(self, offer: dict[str, Any]) -> dict[str, Any] | None:
        """See `Switchboard`."""
        return None

    async def newest(self, count: int) -> list[dict[str, Any]]:
        """See `Switchboard`."""
        return newest_of(self._directory, count)

    async def figures(self, own: str) -> str:
        """See `Switchboard`."""
        return own


def newest_of(directory: Directory, count: int) -> list[dict[str, Any]]:
    """See `Switchboard.newest`, of one process."""
    return [session.describe() | {"owner": session.owner} for session in directory.newest(count)]


def session_here(handle: Handle) -> Session | None:
    """The session itself, if it lives in this process."""
    return handle.session if isinstance(handle, LocalHandle) else None


def here(handle: Handle) -> Session:
    """The session itself, which must live in this process. Raises `BadRequest`."""
    session = session_here(handle)
    if session is None:
        raise BadRequest("This session lives in another process.", hint="Ask again.")
    return session


def no_session() -> NotFound:
    """The one answer to whoever asks for what is not there, or not theirs."""
    return NotFound(NO_SESSION, hint=NO_SESSION_HINT)
