"""Notes of what goes over a connection's wire: none, unless somebody keeps them."""

from __future__ import annotations

from typing import Any

from backend.realtime.conversation import Conversation


class WireLog:
    """One connection's notes. This one keeps nothing: what callers say is theirs."""

    def opened(self, conversation: Conversation) -> None:
        """The connection stands; its items will be in `conversation`."""

    def received(self, event: Any, size: int) -> None:
        """A client event of `size` bytes; None is a message that was not JSON."""

    def sent(self, event: dict[str, Any], size: int) -> None:
        """A server event of `size` bytes."""

    def over(self, why: str) -> None:
        """The connection has ended."""
