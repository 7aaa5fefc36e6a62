"""The offline server as a test peer: a real process on a free port, ended by its pid."""

from __future__ import annotations

import asyncio
import json
import select
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.support.forked import ROOT, Forked

READY_TIMEOUT_S = 20.0
END_TIMEOUT_S = 5.0
LOADED_WITHIN_S = 60.0
Process = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class OfflinePeer:
    """A running offline server."""

    url: str
    """Base address, e.g. `http://127.0.0.1:40123`."""
    pid: int

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` should hold."""
        return self.url + "/v1"

    @property
    def realtime_url(self) -> str:
        """The WebSocket address, without a query."""
        return self.url.replace("http", "ws", 1) + "/v1/realtime"

    async def connections(self, *, audio: bool = False) -> list[dict[str, Any]]:
        """`/debug/connections`: one record per accepted connection, oldest first."""
        async with httpx2.AsyncClient(timeout=5) as http:
            answer = await http.get(self.url + "/debug/connections", params={"audio": "1"} if audio else None)
            answer.raise_for_status()
            connections: list[dict[str, Any]] = answer.json()["connections"]
            return connections

    async def follow(self, script: Mapping[str, Any] | None) -> None:
        """Replace the script from the next connection on and empty the log.

        None goes back to the demonstration, once its speech models are loaded.
        """
        async with httpx2.AsyncClient(timeout=LOADED_WITHIN_S) as http:
            answer = await http.post(self.url + "/debug/script", content=json.dumps(script) if script else "")
            assert answer.status_code == 200, answer.text


@asynccontextmanager
async def offline_peer(script: Mapping[str, Any] | None = None, *arguments: str) -> AsyncIterator[OfflinePeer]:
    """Start `python -m backend.testing.offline` with a script (None: the demonstration), end it on the way out.

    Tests that can share a peer should use `running_peer` once and `follow` in each.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = list(arguments)
        if script is not None:
            path = Path(folder) / "script.json"
            path.write_text(json.dumps(script))
            options += ["--script", str(path)]
        process = await asyncio.to_thread(start, options)
        try:
            yield await asyncio.to_thread(when_ready, process)
        finally:
            await asyncio.to_thread(end, process)


@contextmanager
def running_peer(*arguments: str) -> Iterator[OfflinePeer]:
    """The same without an event loop, for a module's or a session's fixture; starts without a script."""
    process = start(list(arguments))
    try:
        yield when_ready(process)
    finally:
        end(process)


def start(options: list[str], *, loads: str = "--load-when-used") -> Process:
    """The process, not yet ready. It ends with this one, even by SIGKILL. Most tests never use its speech models."""
    command = [sys.executable, "-m", "backend.testing.offline", "--exit-with-parent", *filter(None, [loads]), *options]
    return Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)


def when_ready(process: Process) -> OfflinePeer:
    """Wait for the line that says where it listens."""
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], READY_TIMEOUT_S)
    assert ready, "the offline server is not ready in time"
    line = process.stdout.readline()
    assert line, "the offline server ended before it was ready"
    return OfflinePeer(json.loads(line)["listening"], process.pid)


def end(process: Process) -> None:
    """SIGTERM, then SIGKILL to that very process."""
    process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
