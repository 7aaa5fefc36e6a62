"""No hostile request holds the event loop for 50 ms, as the server itself measures."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest
from redis.asyncio import Redis

from backend.storage.client import connect
from backend.tasks.repository import model_calls_key
from tests.app.test_connections import flood, masked, request
from tests.support.redis_server import running_redis
from tests.support.running_server import RunningServer, a_browser, running_server
from tests.support.waiting import until

pytestmark = pytest.mark.alone
LONGEST_S = 0.05
MONITOR = """
import asyncio, pathlib, time
from backend.tools.base import Result, tool

@tool("loop_monitor", "Nothing.")
async def loop_monitor() -> Result:
    return Result({})

async def watch():
    # Processor time of the loop's own thread, so that other programs on the machine do not count.
    path, longest = pathlib.Path(__file__).with_suffix(".longest"), 0.0
    while True:
        before = time.thread_time()
        await asyncio.sleep(0.002)
        used = time.thread_time() - before
        if not path.exists():
            longest = used = 0.0
            path.write_text("0")
        if used > longest:
            longest = used
            path.write_text(str(longest))

task = asyncio.get_running_loop().create_task(watch())
"""
REMINDERS = [
    {"text": "x", "at": at, "repeat": repeat, "time_zone": "Europe/Oslo"}
    for at in ("0001-01-01T00:00Z", "9999-12-31T23:59Z", "9999-12-31T23:59-12:00", "1970-01-03T00:00", "1" * 100)
    for repeat in ("none", "daily", "FREQ=DAILY;UNTIL=99991231T000000Z", "FREQ=MONTHLY;BYDAY=5MO;BYSETPOS=1")
]
LONG = ("a" * 2_000, "【" * 2_000, "eyJ-" * 500, "\n" * 1_000 + "x", "&#" + "9" * 1_900, "a.b" * 600)


@dataclass(frozen=True, slots=True)
class Measured:
    """A server that measures its own event loop."""

    server: RunningServer
    redis: Redis
    browser: httpx2.AsyncClient
    figure: Path

    async def longest_s(self, act: Callable[[], Awaitable[None]]) -> float:
        """Do `act`, and return how long the loop was held at most."""
        self.figure.unlink(missing_ok=True)
        await until(self.figure.exists, 30)
        await act()
        await asyncio.sleep(0.1)
        return float(self.figure.read_text() or 0)


@asynccontextmanager
async def measured(folder: Path) -> AsyncIterator[Measured]:
    (folder / "monitor.py").write_text(MONITOR)
    with running_redis() as memory, running_server(None, REDIS_URL=memory.url, PLUGIN_FOLDERS=str(folder)) as server:
        redis = connect(memory.url)
        async with a_browser(server) as browser:
            await browser.get("/api/config")
            yield Measured(server, redis, browser, folder / "monitor.longest")
        await redis.aclose()


async def send_reminders(here: Measured) -> None:
    for body in REMINDERS:
        assert (await here.browser.post("/notification", json=body)).status_code == 422, body


async def send_long_texts(here: Measured) -> None:
    for text in LONG:
        await here.browser.post("/api/multiturn", json={"message": text, "conversation_id": "c"}, timeout=30)
        await here.browser.post("/embedding", json={"input": [text] * 30}, timeout=30)


async def send_raw(here: Measured, *pieces: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(here.server.url.rpartition(":")[2]))
    try:
        for piece in pieces:
            writer.write(piece)
        await writer.drain()
        async with asyncio.timeout(30):
            while await reader.read(65_536):
                pass
    except ConnectionError:
        pass
    finally:
        writer.close()


async def send_chunks(here: Measured) -> None:
    begin = request("/api/input", "Transfer-Encoding: chunked", method="POST")
    await send_raw(here, begin, b"1\r\na\r\n" * 40_000)


async def send_headers(here: Measured) -> None:
    await send_raw(here, request("/healthz", *["a:b"] * 50_000))
    await send_raw(here, request("/healthz") + request("/healthz", *["a:b"] * 50_000))


async def send_pings(here: Measured) -> None:
    await flood(here.server, masked(9), 40_000)


async def send_fragments(here: Measured) -> None:
    await flood(here.server, masked(1, b"{", final=False) + masked(0, b" ", final=False) * 10_000, 4)


async def fetch_archive(here: Measured) -> None:
    task = (await here.browser.post("/api/tasks", json={"instruction": "Compare ferries."})).json()["id"]
    [key] = await here.redis.keys("user:*:tasks")
    owner = (key.decode() if isinstance(key, bytes) else key).split(":")[1]
    message = {"role": "user", "content": "a@b.example " * 600}
    entry = {"at": 1.0, "ms": 5, "model": "m", "messages": [message] * 10, "text": "eyJ-" * 1_900, "calls": []}
    await here.redis.rpush(model_calls_key(task), *[json.dumps(entry)] * 100)
    await here.redis.zadd(f"user:{owner}:archives", {task: 9e9})
    answer = await here.browser.get(f"/api/tasks/{task}/archive", timeout=60)
    assert answer.status_code == 200 and len(answer.content) > 5_000_000
    exported = await here.browser.get("/api/me/export", timeout=60)
    assert exported.status_code == 200 and len(exported.content) > 5_000_000


async def test_no_hostile_request_holds_the_event_loop(tmp_path: Path) -> None:
    acts = (send_reminders, send_long_texts, send_chunks, send_headers, send_pings, send_fragments, fetch_archive)
    async with measured(tmp_path) as here:
        found = {act.__name__: await here.longest_s(partial(act, here)) for act in acts}
        assert max(found.values()) < LONGEST_S, found


async def test_the_measurement_notices_a_held_loop(tmp_path: Path) -> None:
    slow = (
        "async def hold():\n    while True:\n        await asyncio.sleep(0.5)\n"
        "        until = time.thread_time() + 0.1\n        while time.thread_time() < until:\n            pass\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}.MONITOR", f"{MONITOR}{slow}held = asyncio.get_running_loop().create_task(hold())\n")
        async with measured(tmp_path) as here:
            assert await here.longest_s(lambda: asyncio.sleep(2)) > LONGEST_S
