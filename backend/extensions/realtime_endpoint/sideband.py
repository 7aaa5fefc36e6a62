"""A program beside a client: over a WebSocket of its own it follows a call, and may act on it, as the client does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.websockets import WebSocket

from backend.errors import TooMany, VoiceError
from backend.extensions.realtime_endpoint.event_socket import EventSocket
from backend.extensions.realtime_endpoint.protocol import ClientProtocol, Send, binary_refusal, error_event
from backend.runtime.supervisor import cancel_all

SIDEBANDS_LIMIT = 4
"""Programs that may follow one call at once."""


class Sideband(Protocol):
    """One program that follows a call, wherever the call lives."""

    async def receive(self, text: str) -> None:
        """Carry out an event of the program's, as one of the client's. Raises `VoiceError` when the call is gone."""

    async def over(self) -> None:
        """Return when the call is over, or its process gone."""

    async def leave(self) -> None:
        """Follow no more. Never raises."""


class LocalSideband(Sideband):
    """A program that follows a call of this process."""

    def __init__(self, protocol: ClientProtocol, send: Send, over: Callable[[], Awaitable[None]]) -> None:
        """`send` is given the call's events from now on. Raises `TooMany`."""
        if protocol.programs > SIDEBANDS_LIMIT:
            hint = f"At most {SIDEBANDS_LIMIT} may at once."
            raise TooMany("Too many programs follow this call.", retry_after_s=5, hint=hint)
        self._protocol = protocol
        self._send = send
        self._over = over
        protocol.join(send)

    def __repr__(self) -> str:
        return f"LocalSideband({self._protocol!r})"

    async def receive(self, text: str) -> None:
        self._protocol.receive(text, self._send)

    async def over(self) -> None:
        await self._over()

    async def leave(self) -> None:
        self._protocol.leave(self._send)


async def run_sideband(socket: WebSocket, events: EventSocket, sideband: Sideband, lost: asyncio.Event) -> None:
    """Serve an accepted WebSocket until its client leaves or is `lost`, or the call ends; `events` is the way out."""

    async def receive() -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                events.open = False
                return
            text = message.get("text")
            if text is None:
                events.send(binary_refusal())
            else:
                try:
                    await sideband.receive(text)
                except VoiceError as error:
                    events.send(error_event(f"{error} {error.hint}".strip(), "call_unavailable", kind="server_error"))
            await asyncio.sleep(0)  # who sends faster than time does not get all of ours

    sending = asyncio.create_task(events.run(), name="sideband out")
    ends = [asyncio.create_task(each, name="sideband") for each in (receive(), lost.wait(), sideband.over())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await events.drain()
    finally:
        await sideband.leave()
        await cancel_all([*ends, sending])
        await events.close()
