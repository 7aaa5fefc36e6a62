"""A program beside a client: over a WebSocket of its own it follows a call, and may act on it, as the client does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.websockets import WebSocket

from backend.runtime.supervisor import cancel_all
from backend.transports.realtime.event_socket import EventSocket
from backend.transports.realtime.protocol import ClientProtocol


async def run_sideband(socket: WebSocket, protocol: ClientProtocol, call: Coroutine[Any, Any, None]) -> None:
    """Serve an accepted WebSocket until its client leaves, or `call` is over."""
    lost = asyncio.Event()
    events = EventSocket(socket, lambda error: lost.set())

    async def receive() -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                events.open = False
                return
            text = message.get("text")
            if text is None:
                protocol.refuse_binary(events.send)
            else:
                protocol.receive(text, events.send)
            await asyncio.sleep(0)  # who sends faster than time does not get all of ours

    protocol.join(events.send)
    sending = asyncio.create_task(events.run(), name="sideband out")
    ends = [asyncio.create_task(each, name="sideband") for each in (receive(), lost.wait(), call)]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await events.drain()
    finally:
        protocol.leave(events.send)
        await cancel_all([*ends, sending])
        await events.close()
