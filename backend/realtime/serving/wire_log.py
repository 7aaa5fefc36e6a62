"""Notes of the traffic of a connection: none, unless a subclass keeps them."""

from typing import Any

from backend.realtime.conversation import Conversation


class WireLog:
    """The notes of one connection. This class keeps none, since the words of callers are private."""

    def opened(self, conversation: Conversation) -> None:
        """Note that the connection stands; its items will be in `conversation`."""

    def received(self, event: Any) -> None:
        """Note a client event; None is a message that was not JSON."""

    def sent(self, event: dict[str, Any]) -> None:
        """Note a server event."""

    def over(self, why: str) -> None:
        """Note that the connection has ended."""
