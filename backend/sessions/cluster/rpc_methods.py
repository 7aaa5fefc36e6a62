"""What other processes may ask of this one, and how it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from backend.errors import BadRequest
from backend.sessions.handles import LocalHandle, newest_of
from backend.sessions.offers import AcceptOffer, connect_offer
from backend.sessions.registry import Directory, Session

Announce = Callable[[Session], Awaitable[None]]
"""Has a session known everywhere."""


class RpcMethods:
    """See `post.Answer`: a question's name and its arguments → JSON data. Raises `VoiceError` as a handle does."""

    def __init__(
        self, directory: Directory, accept_offer: AcceptOffer, announce: Announce, figures: Callable[[], str]
    ) -> None:
        self._directory = directory
        self._accept_offer = accept_offer
        self._announce = announce
        self._figures = figures

    def __repr__(self) -> str:
        return f"RpcMethods({self._directory!r})"

    async def __call__(self, what: str, args: dict[str, Any]) -> Any:
        """The answer to a question."""
        if what == "offer":
            return await self._offer(**args)
        if what == "newest":
            return newest_of(self._directory, **args)
        if what == "figures":
            return self._figures()
        session = self._directory.find(args.pop("session"))
        handle = LocalHandle(self._directory, session)
        match what:
            case "describe":
                return await handle.describe()
            case "transcript":
                return await handle.transcript()
            case "type_text":
                return await handle.type_text(**args)
            case "cancel_thinker":
                return await handle.cancel_thinker(**args)
            case "say_answer":
                return await handle.say_answer(**args)
            case "end":
                return await handle.end(**args)
            case "forget":
                await handle.forget()
                return await self._announce(session)  # what was being written of it is written: it can be deleted
            case "hand_over":
                return self._directory.hand_over(session)
        raise BadRequest(f"Nobody here knows how to {what}.", hint="Do all processes run the same version?")

    async def _offer(self, owner: str, sdp: str, conversation_id: str | None = None) -> dict[str, Any]:
        session = self._directory.reserve(owner, conversation_id)
        answer = await connect_offer(self._directory, session, self._accept_offer, sdp)
        await self._announce(session)
        return {"sdp": answer, "session_id": session.id, "conversation_id": session.conversation_id}
