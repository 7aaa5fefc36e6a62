"""A client of the Realtime protocol for tests: plain JSON over a WebSocket, each server event checked by its type."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.realtime_events import check_server_event
from tests.support.waiting import until

Json = dict[str, Any]


class RealtimeClient:
    """One connection: events are collected as they come."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[Json] = []
        self.sound: dict[str, bytearray] = {}
        """The audio of each item, as it was sent."""

    async def send(self, type_: str, **fields: Any) -> None:
        """Send a client event."""
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def update(self, **session: Any) -> Json:
        """Send a `session.update`, and return its result."""
        seen = len(self.of("session.updated"))
        await self.send("session.update", session={"type": "realtime", **session})
        await until(lambda: len(self.of("session.updated")) > seen)
        shown: Json = self.of("session.updated")[-1]["session"]
        return shown

    async def say(self, audio: bytes, *, bytes_per_ms: int = 48, pace: float = 1.0) -> None:
        """Speak: pieces of 20 ms at the pace of a microphone."""
        step, began = 20 * bytes_per_ms, time.monotonic()
        for number, at in enumerate(range(0, len(audio), step)):
            await self.append(audio[at : at + step])
            await asyncio.sleep(max(0.0, began + (number + 1) * 0.02 / pace - time.monotonic()))

    async def append(self, audio: bytes) -> None:
        """Send audio."""
        await self.send("input_audio_buffer.append", audio=base64.b64encode(audio).decode())

    async def answer(self) -> str:
        """Wait for the first response, and return its words."""
        content: Json = (await self.event("response.done"))["response"]["output"][0]["content"][0]
        return str(content["transcript"])

    def of(self, type_: str) -> list[Json]:
        """Return the events of that type so far."""
        return [event for event in self.events if event["type"] == type_]

    def types(self) -> list[str]:
        """Return the types of all events so far, repeated ones once."""
        return list(dict.fromkeys(event["type"] for event in self.events))

    async def event(self, type_: str, within_s: float = 8.0, *, count: int = 1) -> Json:
        """Wait for the event of that type, or its `count`-th one."""
        try:
            await until(lambda: len(self.of(type_)) >= count, within_s)
        except TimeoutError:
            raise AssertionError(f"no {type_} among {self.types()}; errors: {self.of('error')}") from None
        return self.of(type_)[count - 1]

    async def read(self) -> None:
        """Collect events until the connection is closed."""
        async for text in self.socket:
            self.collect(text)

    def collect(self, text: str | bytes) -> None:
        """Take one event."""
        event = json.loads(text)
        check_server_event(event)
        self.events.append(event)
        if event["type"] == "response.output_audio.delta":
            self.sound.setdefault(event["item_id"], bytearray()).extend(base64.b64decode(event["delta"]))


@asynccontextmanager
async def realtime_client(
    url: str, *, key: str = "any-key", query: str = "model=gpt-realtime-2", **options: Any
) -> AsyncIterator[RealtimeClient]:
    """Connect to a server at `url` (http://…)."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    address = f"{url.replace('http', 'ws', 1)}/v1/realtime?{query}"
    async with connect(address, additional_headers=headers, max_size=None, **options) as socket:
        client = RealtimeClient(socket)
        reading = asyncio.create_task(client.read())
        try:
            yield client
        finally:
            await socket.close()
            reading_error = (await asyncio.gather(reading, return_exceptions=True))[0]
            if isinstance(reading_error, Exception) and not isinstance(reading_error, OSError):
                raise reading_error
