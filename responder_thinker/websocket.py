"""A program's call over WebSocket: the same interface as over WebRTC, for networks without UDP."""

import asyncio
import base64
from collections.abc import Mapping

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from backend.errors import TransportLost
from backend.media.clock import SlotStream, current_media_clock
from backend.media.frame import SILENCE, Frame
from responder_thinker.caller import Caller, cut_frames

MAX_MESSAGE_BYTES = 64 * 1024
CLOSE_WITHIN_S = 2.0


class WebSocketCaller(Caller):
    """One call, which `connect` connects."""

    def __init__(self) -> None:
        super().__init__()
        self.flushes = 0
        self.farewell: str | None = None
        self._ready = asyncio.Event()
        self._socket: ClientConnection | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def connect(
        self, url: str, token: str = "", *, headers: Mapping[str, str] | None = None, within_s: float = 10.0
    ) -> None:
        """Connect to `ws(s)://…/ws/{session_id}`, send its token if one is given, and wait for `ready`.

        Raises `TransportLost`.
        """
        try:
            async with asyncio.timeout(within_s):
                self._socket = await connect(
                    url, compression=None, max_size=MAX_MESSAGE_BYTES, additional_headers=headers, proxy=None
                )
                if token:
                    await self._socket.send(msgspec.json.encode({"type": "token", "token": token}).decode())
                self._tasks = [
                    asyncio.create_task(self._receive(self._socket), name="caller in"),
                    asyncio.create_task(self._send_speech(self._socket), name="caller out"),
                ]
                await self._ready.wait()
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            await self.close()
            raise TransportLost("The WebSocket could not be opened.", hint=str(error)) from error
        if self.hung_up:
            raise TransportLost("The server closed the WebSocket immediately.", hint=self.farewell)

    def say(self, pcm: bytes) -> None:
        self._speak(cut_frames(pcm))

    @property
    def hung_up(self) -> bool:
        return any(task.done() for task in self._tasks)

    async def close(self) -> None:
        if self._socket is None:
            return
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self._socket.send('{"type":"bye"}')
                await self._socket.close()
        except (ConnectionClosed, TimeoutError):
            pass  # the other side has closed the connection, or does not answer: it is over
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _receive(self, socket: ClientConnection) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for text in socket:
                message = msgspec.json.decode(text)
                match message["type"]:
                    case "ready":
                        self._ready.set()
                    case "audio":
                        self.received.add(Frame(base64.b64decode(message["pcm"])), loop.time())
                    case "flush":
                        self.flushes += 1
                    case "bye":
                        self.farewell = message["reason"]
        except ConnectionClosed as error:
            self.farewell = self.farewell or str(error)
        finally:
            self._ready.set()

    async def _send_speech(self, socket: ClientConnection) -> None:
        slots = SlotStream(current_media_clock())
        try:
            while True:
                await slots.next()
                if not self._speech:
                    self._silent.set()
                await socket.send(self._speech.popleft() if self._speech else SILENCE)
        except ConnectionClosed:
            self._silent.set()
        finally:
            slots.leave()
