"""A small Realtime client for tests: every event either way is checked against the `openai` package's types."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_events import Event, check_client_event, check_server_event

WAIT_S = 10.0


class RealtimeClient:
    """One connection. `seen` holds every server event so far."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.seen: list[Event] = []

    async def send(self, event: Event) -> None:
        """Send a checked client event."""
        check_client_event(event)
        await self._socket.send(json.dumps(event))

    async def send_raw(self, message: str | bytes) -> None:
        """Send anything at all."""
        await self._socket.send(message)

    async def next(self) -> Event:
        """The next server event."""
        event: Event = json.loads(await asyncio.wait_for(self._socket.recv(), WAIT_S))
        check_server_event(event)
        self.seen.append(event)
        return event

    async def until(self, kind: str, matches: Callable[[Event], bool] = lambda event: True) -> Event:
        """Read on to the first event of `kind` that matches."""
        while True:
            event = await self.next()
            if event["type"] == kind and matches(event):
                return event

    async def setup(self, **changes: Any) -> Event:
        """`session.update`, by default with manual turns and transcription; returns the session shown."""
        audio = {"input": {"turn_detection": None, "transcription": {"model": "gpt-4o-mini-transcribe"}}}
        await self.send({"type": "session.update", "session": {"type": "realtime", "audio": audio, **changes}})
        session: Event = (await self.until("session.updated"))["session"]
        return session

    async def speak(self, pcm: bytes = bytes(9600)) -> None:
        """Append `pcm` (200 ms of silence by default) and commit it."""
        await self.append(pcm)
        await self.send({"type": "input_audio_buffer.commit"})

    async def append(self, pcm: bytes) -> None:
        """Append 24 kHz PCM16."""
        await self.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()})

    async def type(self, text: str, role: str = "user") -> None:
        """Add a text message."""
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
        item = {"type": "message", "role": role, "content": content}
        await self.send({"type": "conversation.item.create", "item": item})

    async def reply(self, event_id: str = "want", **response: Any) -> None:
        """Ask for a reply."""
        await self.send({"type": "response.create", "event_id": event_id, "response": response})

    def of(self, kind: str) -> list[Event]:
        """The events of one type seen so far."""
        return [event for event in self.seen if event["type"] == kind]

    def audio(self) -> bytes:
        """All reply audio seen so far."""
        return b"".join(base64.b64decode(event["delta"]) for event in self.of("response.output_audio.delta"))

    def words(self) -> str:
        """All reply words seen so far."""
        return "".join(event["delta"] for event in self.of("response.output_audio_transcript.delta"))

    @property
    def socket(self) -> ClientConnection:
        """The connection itself."""
        return self._socket


@asynccontextmanager
async def call(
    peer: OfflinePeer, query: str = "model=gpt-realtime-1.5", **headers: str
) -> AsyncIterator[RealtimeClient]:
    """Connect and read `session.created`."""
    address = f"{peer.realtime_url}?{query}"
    async with connect(address, compression=None, additional_headers=headers, max_size=2**24) as socket:
        client = RealtimeClient(socket)
        assert (await client.next())["type"] == "session.created"
        yield client
