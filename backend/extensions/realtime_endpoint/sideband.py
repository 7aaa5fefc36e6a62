"""The WebSocket of a program that follows a client's call and may act on it."""

import asyncio

from starlette.websockets import WebSocket

from backend.errors import VoiceError
from backend.extensions.realtime_endpoint.event_socket import EventSocket
from backend.extensions.realtime_endpoint.protocol import refused
from backend.runtime.supervisor import cancel_all
from backend.sessions.sideband import Sideband


async def run_sideband(socket: WebSocket, events: EventSocket, sideband: Sideband, lost: asyncio.Event) -> None:
    """Serve an accepted WebSocket until its client leaves or is `lost`, or the call ends; `events` is the way out."""

    async def receive() -> None:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                events.open = False
                return
            try:
                await sideband.receive(message.get("text") or "")
            except VoiceError as error:
                events.send(refused(error, "call_unavailable", kind="server_error"))
            await asyncio.sleep(0)  # a program that sends without a pause must not take all of the loop's time

    sending = asyncio.create_task(events.run(), name="sideband out")
    ends = [asyncio.create_task(each, name="sideband") for each in (receive(), lost.wait(), sideband.over())]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await events.drain()
    finally:
        await sideband.leave()
        await cancel_all([*ends, sending])
        await events.close()
