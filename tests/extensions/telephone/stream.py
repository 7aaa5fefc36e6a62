"""A telephone provider's side of a media stream, as its documents describe it: it plays from a buffer, in real time.

Arriving sound is queued; 20 ms of it are played every 20 ms. A mark comes back when all before it was played. `clear`
drops the queue and sends its marks back immediately.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from backend.media import g711
from backend.media.frame import FRAME_BYTES, Frame
from tests.support.tones import audible
from tests.support.waiting import until

CALL = "call-0123456789"
BYTES = g711.PACKET_BYTES


Understood = tuple[str, Any]
"""The parts of a server's message: `audio` with its payload, `mark` with its name, or `clear`."""


@dataclass
class MediaStream(ABC):
    """One stream; `heard` are 24 kHz frames. Providers differ in their messages, which are the methods at the end."""

    call: str = CALL
    law: g711.Law = g711.Law.MU
    stops: bool = True
    """Whether the provider reports the end of the stream."""
    delay_s: float = 0.0
    """Seconds of the provider's buffer before it begins to play."""
    heard: list[Frame] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    """All messages of the server, in order."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    _socket: ClientConnection | None = None
    _queue: deque[bytes | str] = field(default_factory=deque)
    _outgoing: deque[bytes] = field(default_factory=deque)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _sequence: int = 1

    async def connect(self, url: str, parameters: dict[str, str] | None = None) -> None:
        """Open the stream, with the parameters in the webhook's answer."""
        self._socket = await connect(url, proxy=None, compression=None)
        for message in self._opening(parameters or {}):
            await self._send(message)
        self._tasks = [asyncio.create_task(work) for work in (self._receive(), self._play(), self._speak())]

    def say(self, pcm: bytes) -> None:
        """Speak 24 kHz PCM16 in real time, after the present speech."""
        encoder = g711.Encoder(self.law)
        pcm += bytes(-len(pcm) % FRAME_BYTES)
        for at in range(0, len(pcm), FRAME_BYTES):
            self._outgoing.append(encoder.encode(Frame(pcm[at : at + FRAME_BYTES])))

    async def said(self) -> None:
        """Wait until all of it is spoken."""
        await until(lambda: not self._outgoing, 30)

    async def press(self, keys: str) -> None:
        """Press keys of the telephone."""
        for key in keys:
            await self._send({"event": "dtmf", "dtmf": {"track": "inbound", "digit": key}})

    async def hang_up(self) -> None:
        """Hang up: the stream stops, and the provider closes its socket."""
        if self.stops:
            await self._send({"event": "stop", "stop": {}})
        await self.close()

    async def close(self) -> None:
        """Close the socket."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()
        self.closed.set()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The messages of a kind, so far."""
        return [message for message in self.messages if message["event"] == kind]

    def audible(self) -> list[Frame]:
        """The frames heard that are not silence."""
        return [frame for frame in self.heard if audible(frame)]

    async def _receive(self) -> None:
        assert self._socket
        try:
            async for text in self._socket:
                message = json.loads(text)
                self.messages.append(message)
                match self._understand(message):
                    case "audio", payload:
                        self._queue.append(b64decode(payload))
                    case "mark", name:
                        self._queue.append(name)
                    case "clear", _:
                        marks = [each for each in self._queue if isinstance(each, str)]
                        self._queue.clear()
                        for mark in marks:
                            await self._cleared(mark)
        except ConnectionClosed:
            pass
        self.closed.set()

    async def _play(self) -> None:
        decoder = g711.Decoder(self.law)
        loop = asyncio.get_running_loop()
        due = loop.time()
        begun = False
        while not self.closed.is_set():
            if not begun and self._queue and self.delay_s:
                await asyncio.sleep(self.delay_s)
                due = loop.time()
            begun = bool(self._queue)
            while self._queue and isinstance(self._queue[0], str):
                await self._mark(str(self._queue.popleft()))
            payload = self._queue.popleft() if self._queue else b""
            if isinstance(payload, bytes) and payload:
                self.heard.append(Frame(decoder.decode(payload)))
            due += 0.02
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _speak(self) -> None:
        silence = bytes([self.law.silence]) * BYTES
        loop = asyncio.get_running_loop()
        due = loop.time()
        chunk = 0
        while not self.closed.is_set():
            payload = self._outgoing.popleft() if self._outgoing else silence
            chunk += 1
            media = {"track": "inbound", "chunk": self._chunk(chunk), "timestamp": str(20 * chunk)}
            await self._send({"event": "media", "media": media | {"payload": b64encode(payload).decode()}})
            due += 0.02
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._socket
        try:
            await self._socket.send(json.dumps(message | self._envelope()))
        except ConnectionClosed:
            self.closed.set()
        self._sequence += 1

    # --- the provider's messages ------------------------------------------------------------------------------

    @abstractmethod
    def _opening(self, parameters: dict[str, str]) -> list[dict[str, Any]]:
        """The first messages of a stream."""

    @abstractmethod
    def _understand(self, message: dict[str, Any]) -> Understood:
        """The parts of a server's message."""

    async def _mark(self, name: str) -> None:
        """Report that everything before a mark was played."""
        await self._send({"event": "mark", "mark": {"name": name}})

    async def _cleared(self, name: str) -> None:
        """Answer a mark after its sound was dropped."""
        await self._mark(name)

    @abstractmethod
    def _envelope(self) -> dict[str, Any]:
        """The fields of every message."""

    def _chunk(self, number: int) -> str | int:
        return number
