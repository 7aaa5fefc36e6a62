"""What one event costs per reader: our event stream beside FastAPI's and sse-starlette's, 64 readers of one call.

Run it with `python -m benchmarks.event_streams`. Every reader follows the same event log; what is sent is counted and
thrown away, so only the server's own work is measured. Figures are microseconds of processor time per event and reader,
the best of several rounds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from fastapi import FastAPI
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import EventSourceResponse as StarletteResponse
from starlette.types import ASGIApp

from backend.http.sse import EventStream, encode_events
from backend.page_events import TranscriptDelta
from backend.sessions.event_log import EventLog

READERS = 64
EVENTS = 200
ROUNDS = 3
PATH = "/events"

Make = Callable[[EventLog], ASGIApp]


def ours(log: EventLog) -> ASGIApp:
    """The server's own response: batches of encoded events."""

    async def stream() -> AsyncGenerator[bytes, None]:
        async with aclosing(log.follow(quiet_s=15)) as batches:
            async for events in batches:
                yield encode_events(events)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await EventStream(stream())(scope, receive, send)

    return app


def fastapi_way(log: EventLog) -> ASGIApp:
    """A path operation that yields `ServerSentEvent`, encoded and kept alive by FastAPI."""
    app = FastAPI()

    @app.get(PATH, response_class=EventSourceResponse)
    async def events() -> AsyncGenerator[ServerSentEvent, None]:
        async for event in log.read():
            yield ServerSentEvent(data=event.data, event=event.type, id=str(event.id))

    return app


def sse_starlette_way(log: EventLog) -> ASGIApp:
    """The response of sse-starlette, which has its own task for keep-alive and one for the disconnect."""

    async def stream() -> AsyncGenerator[dict[str, str], None]:
        async for event in log.read():
            data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
            yield {"data": data, "event": event.type, "id": str(event.id)}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await StarletteResponse(stream())(scope, receive, send)

    return app


async def measure(make: Make) -> float:
    """Return the microseconds of processor time per event and reader."""
    log = EventLog()
    app = make(log)
    received = [0] * READERS

    async def reader(number: int) -> None:
        async def send(message: Any) -> None:
            received[number] += message.get("body", b"").count(b"event:")

        await app(_scope(), _never, send)

    readers = [asyncio.create_task(reader(number)) for number in range(READERS)]
    await asyncio.sleep(0.2)
    began = time.process_time()
    for number in range(EVENTS):
        log.publish(TranscriptDelta("assistant", "item-1", f"word {number} "))
        while min(received) <= number:  # noqa: ASYNC110 - it is the readers' turn
            await asyncio.sleep(0)
    used = time.process_time() - began
    log.close()
    for task in readers:
        task.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    return used / EVENTS / READERS * 1e6


def _scope() -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [],
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }


async def _never() -> Any:
    await asyncio.Event().wait()


def main() -> None:
    """Print a line for each way."""
    ways: dict[str, Make] = {"ours": ours, "FastAPI": fastapi_way, "sse-starlette": sse_starlette_way}
    for name, make in ways.items():
        best = min(asyncio.run(measure(make)) for _ in range(ROUNDS))
        print(f"{name:>14}: {best:6.1f} µs per event and reader")


if __name__ == "__main__":
    main()
