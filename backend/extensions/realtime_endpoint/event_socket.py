"""The queue of server events for a WebSocket, ordered and bounded: a client that does not read is disconnected."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from backend.errors import TransportLost
from backend.runtime.json_objects import Json

SEND_WITHIN_S = 5.0
"""Seconds an event may take to leave."""
LAST_WITHIN_S = 1.0
"""Seconds the last events have to leave."""
OUTBOX_BYTES = 24_000_000
"""Bytes that may wait for a client that does not read: five minutes of a reply. Beyond, it is disconnected."""
NORMAL = 1000

encode_event = msgspec.json.Encoder().encode


class EventSocket:
    """Sends events over an accepted WebSocket; `run` does so until it is cancelled."""

    def __init__(self, socket: WebSocket, on_lost: Callable[[TransportLost], None]) -> None:
        """`on_lost` is called when the client is too slow, or gone."""
        self._socket = socket
        self._on_lost = on_lost
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()  # bounded by its bytes
        self._outbox_bytes = 0
        self.open = True
        """False once the client has left."""

    def send(self, event: Json) -> None:
        """Send an event after those before it."""
        if self._outbox_bytes > OUTBOX_BYTES:
            self._on_lost(TransportLost("The client does not read."))
            return
        text = encode_event(event)
        self._outbox.put_nowait(text)
        self._outbox_bytes += len(text)

    async def run(self) -> None:
        """Send what is enqueued, for as long as the client is there."""
        while self.open:
            text = await self._outbox.get()
            self._outbox_bytes -= len(text)
            await self._send(text.decode())
            self._outbox.task_done()

    async def drain(self) -> None:
        """Give the last events a moment to leave."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WITHIN_S if self.open else 0):
                await self._outbox.join()

    async def close(self) -> None:
        """Close the WebSocket, unless the client has."""
        if not self.open:
            return
        self.open = False
        try:
            async with asyncio.timeout(SEND_WITHIN_S):
                await self._socket.close(NORMAL)
        except (OSError, RuntimeError, WebSocketDisconnect):
            return  # the client is gone already, which is what was wanted

    async def _send(self, text: str) -> None:
        try:
            async with asyncio.timeout(SEND_WITHIN_S):
                await self._socket.send_text(text)
        except (OSError, RuntimeError, WebSocketDisconnect) as error:
            self.open = False
            fault = "is too slow" if isinstance(error, TimeoutError) else "broke"
            self._on_lost(TransportLost(f"The client's connection {fault}."))
