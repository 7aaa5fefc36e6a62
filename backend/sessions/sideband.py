"""Sidebands: programs that follow a client's call beside the client, and may act on it as the client does."""

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from backend.errors import TooMany
from backend.runtime.json_objects import Json

SIDEBANDS_LIMIT = 4
"""The most programs that follow one call at the same time."""
Send = Callable[[Json], None]
"""Sends an event to one program."""


@runtime_checkable
class SharedProtocol(Protocol):
    """The protocol of a call that other programs may follow beside its client."""

    @property
    def programs(self) -> int:
        """The number of programs that get the events, including the client."""

    def join(self, send: Send) -> None:
        """Send the events to another program, too, from now on."""

    def leave(self, send: Send) -> None:
        """Stop sending events to that program."""

    def receive(self, text: str | bytes, answer: Send | None = None) -> None:
        """Carry out an event; `answer` sends an error to the program that sent it."""


class Sideband:
    """One program that follows a call of this process; an extension derives one of another process from it."""

    def __init__(self, protocol: SharedProtocol, send: Send, over: Callable[[], Awaitable[None]]) -> None:
        """`send` gets the call's events from now on. Raises `TooMany`."""
        if protocol.programs > SIDEBANDS_LIMIT:
            hint = f"At most {SIDEBANDS_LIMIT} may at the same time."
            raise TooMany("Too many programs follow this call.", retry_after_s=5, hint=hint)
        self._protocol = protocol
        self._send = send
        self._over = over
        protocol.join(send)

    async def receive(self, text: str) -> None:
        """Carry out an event of the program, as if the client had sent it. Raises `VoiceError` if the call is gone."""
        self._protocol.receive(text, self._send)

    async def over(self) -> None:
        """Wait until the call is over, or its process is gone."""
        await self._over()

    async def leave(self) -> None:
        """Stop following the call. Never raises."""
        self._protocol.leave(self._send)
