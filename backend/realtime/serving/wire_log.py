"""Where a connection notes what goes over its wire: nowhere in the local Responder, in a log in the scripted peer."""

from __future__ import annotations

from typing import Any, Protocol

from backend.realtime.conversation import Conversation


class WireLog(Protocol):
    """One connection's notes. Every method returns at once."""

    def opened(self, conversation: Conversation) -> None:
        """The connection stands; its items will be in `conversation`."""
        ...

    def received(self, event: Any, size: int) -> None:
        """A client event of `size` bytes; None is a message that was not JSON."""
        ...

    def sent(self, event: dict[str, Any], size: int) -> None:
        """A server event of `size` bytes."""
        ...

    def over(self, why: str) -> None:
        """The connection has ended."""
        ...


class NoLog:
    """Nothing is kept: what callers say is theirs."""

    def opened(self, conversation: Conversation) -> None:
        """Ignore it."""

    def received(self, event: Any, size: int) -> None:
        """Ignore it."""

    def sent(self, event: dict[str, Any], size: int) -> None:
        """Ignore it."""

    def over(self, why: str) -> None:
        """Ignore it."""
