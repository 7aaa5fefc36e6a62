"""The abilities of a telephone line beyond audio: keys that the caller presses, transfer, hanging up.

If the transport of a call is also a `PhoneLine`, the call offers the Responder the tools for it.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from backend.transports.base import Transport

KEYS = frozenset("0123456789*#ABCD")
"""The keys of DTMF (ITU-T Q.23)."""

OnKey = Callable[[str], None]
"""Called on the event loop with each key that the caller presses, one of `KEYS`; must not wait for anything."""


@runtime_checkable
class PhoneLine(Protocol):
    """The telephone side of a call. Every coroutine is bounded in time, and raises `LineFailed`."""

    @property
    def transfers(self) -> bool:
        """Return whether this line can connect the caller with someone else."""
        ...

    @property
    def presses_keys(self) -> bool:
        """Return whether keys can be pressed at the other end."""
        ...

    def listen_to_keys(self, on_key: OnKey) -> None:
        """Call `on_key` with each key that the caller presses."""
        ...

    async def transfer(self, target: str) -> None:
        """Connect the caller with `target`, a number or a SIP address; the call ends here then."""
        ...

    async def press(self, keys: str) -> int:
        """Press keys at the other end, each one of `KEYS`; return how many were sent."""
        ...

    async def hang_up(self) -> None:
        """End the telephone call."""
        ...


def phone_line(transport: Transport) -> PhoneLine | None:
    """Return the telephone side of a call; None for a call without a telephone line."""
    return transport if isinstance(transport, PhoneLine) else None
