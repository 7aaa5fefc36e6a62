"""The other processes that answer typed turns, as the chat sees them: whose turn a conversation is at, and to stop it.

`storage.turn_claims` does it over Redis; alone, there is nobody else. Everything may raise `MemoryUnavailable`: then
each process goes by what it knows itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

OnStop = Callable[[str, str], None]
"""User id, conversation id: a turn that runs here is not wanted any more. Returns at once."""


class PeerTurns(Protocol):
    """See above. A turn is named by its user, its conversation and its message."""

    async def claim(self, user_id: str, conversation_id: str, message_id: str) -> str:
        """Have the conversation for this turn. The message of another process's turn that has it; empty: it is ours."""
        ...

    async def keep(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """Say again and again that we have it, until cancelled."""
        ...

    async def release(self, user_id: str, conversation_id: str, message_id: str = "") -> None:
        """Let it go, if that message's turn has it; without a message: whoever has it."""
        ...

    async def running(self, user_id: str) -> dict[str, str]:
        """That user's turns in other processes: conversation → message."""
        ...

    async def stop(self, user_id: str, conversation_id: str) -> None:
        """Have the other processes stop that turn, in a moment."""
        ...

    def on_stop(self, hear: OnStop) -> None:
        """Have `hear` called when another process wants a turn stopped."""
        ...


class NoPeers:
    """There is no other process."""

    def __repr__(self) -> str:
        return "NoPeers()"

    async def claim(self, user_id: str, conversation_id: str, message_id: str) -> str:
        """It is ours."""
        return ""

    async def keep(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """Nothing."""

    async def release(self, user_id: str, conversation_id: str, message_id: str = "") -> None:
        """Nothing."""

    async def running(self, user_id: str) -> dict[str, str]:
        """None."""
        return {}

    async def stop(self, user_id: str, conversation_id: str) -> None:
        """Nothing."""

    def on_stop(self, hear: OnStop) -> None:
        """Nothing."""


NO_PEERS = NoPeers()
