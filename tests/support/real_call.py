"""A real call over loopback: WebRTC from a caller's program to the engine, and the test's own Realtime API."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from backend.media.endpointing import open_endpointing
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from backend.settings.settings import load_settings
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from responder_thinker.webrtc import WebRTCCaller
from tests.call.world import PlacedCall, placed_call
from tests.support.tones import tone
from tests.support.waiting import until

LOOPBACK = IceConfig(force_host="127.0.0.1")


@dataclass
class Provider:
    """A Realtime API that records its input. It answers each request with a long reply; the test releases the sound."""

    appended: int = 0
    sounding: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await self._converse(socket)

    async def _converse(self, socket: ServerConnection) -> None:
        await socket.send('{"type":"session.created"}')
        async for text in socket:
            message = json.loads(text)
            match message["type"]:
                case "session.update":
                    await socket.send('{"type":"session.updated"}')
                case "input_audio_buffer.append":
                    self.appended += 1
                case "response.create":
                    await self._reply(socket, message["response"]["metadata"]["request"])

    async def _reply(self, socket: ServerConnection, request: str) -> None:
        response = {"id": "r1", "metadata": {"request": request}}
        await socket.send(json.dumps({"type": "response.created", "response": response}))
        for number in range(40):
            if number == 2:
                await self.sounding.wait()
            delta = b64encode(tone(440, 100)).decode()
            sound = {"type": "response.output_audio.delta", "response_id": "r1", "item_id": "i1", "delta": delta}
            await socket.send(json.dumps(sound))
            await asyncio.sleep(0.02)


@asynccontextmanager
async def real_call() -> AsyncIterator[tuple[PlacedCall, WebRTCTransport, WebRTCCaller, Provider]]:
    """A call that is real except for the caller's network and the provider's model."""
    provider = Provider()
    async with serve(provider.serve, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        endpoint = RealtimeEndpoint(f"ws://127.0.0.1:{port}", "k", Voice("m", "v", "t"))

        async def dial(briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
            return await connect_realtime(endpoint, briefing, history)

        def endpointing() -> Any:
            return open_endpointing(load_settings(_env_file=None).vad)

        caller = WebRTCCaller(LOOPBACK)
        answer, transport = await accept_offer(await caller.offer(), LOOPBACK)
        try:
            await caller.accept(answer)
            await caller.connected()
            async with placed_call(transport=transport, connect=dial, open_endpointing=endpointing) as call:
                await until(lambda: call.events_of("session_started") != [])
                yield call, transport, caller, provider
        finally:
            provider.sounding.set()
            await transport.close()
            await caller.close()
