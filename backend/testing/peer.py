"""The scripted peer as a process: it follows a script, reports what it received, and can be killed."""

import asyncio
import json
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 20.0
END_TIMEOUT_S = 5.0
Process = subprocess.Popen[bytes]
Start = Callable[[list[str]], Process]
"""Starts `python -m backend.testing.offline` with those arguments."""


@dataclass(frozen=True, slots=True)
class OfflinePeer:
    """A running scripted peer."""

    url: str
    """The base address, for example `http://127.0.0.1:40123`."""
    pid: int

    @property
    def base_url(self) -> str:
        """Return the value for `OPENAI_BASE_URL`."""
        return self.url + "/v1"

    @property
    def realtime_url(self) -> str:
        """Return the WebSocket address, without a query."""
        return self.url.replace("http", "ws", 1) + "/v1/realtime"

    async def connections(self) -> list[dict[str, Any]]:
        """Return the records of `/debug/connections`, one per accepted connection, oldest first."""
        async with httpx2.AsyncClient(timeout=5) as http:
            answer = await http.get(self.url + "/debug/connections")
            answer.raise_for_status()
            connections: list[dict[str, Any]] = answer.json()["connections"]
            return connections

    async def follow(self, script: Mapping[str, Any]) -> None:
        """Replace the script from the next connection on and empty the log."""
        async with httpx2.AsyncClient(timeout=5) as http:
            answer = await http.post(self.url + "/debug/script", content=json.dumps(script))
            assert answer.status_code == 200, answer.text


def start(options: list[str]) -> Process:
    """Start the process, which is not ready yet. It ends with this one, even by SIGKILL."""
    command = [sys.executable, "-m", "backend.testing.offline", "--exit-with-parent", *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)


def when_ready(process: Process) -> OfflinePeer:
    """Wait for the line that names the address on which the process listens, and return the peer."""
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], READY_TIMEOUT_S)
    assert ready, "the offline server is not ready in time"
    line = process.stdout.readline()
    assert line, "the offline server ended before it was ready"
    return OfflinePeer(json.loads(line)["listening"], process.pid)


def end(process: Process) -> None:
    """End a process with SIGTERM, then with SIGKILL."""
    process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


class RestartablePeer:
    """A scripted peer that can end and come back at its address: `start` starts its process, `kill` kills it."""

    def __init__(self, script_file: Path, script: Mapping[str, Any], *arguments: str, start: Start) -> None:
        self._script_file = script_file
        self._script_file.write_text(json.dumps(script))
        self._arguments = arguments
        self._start = start
        self._process: Process | None = None
        self._peer: OfflinePeer | None = None

    @property
    def peer(self) -> OfflinePeer:
        """Return the peer with the pid of its newest process."""
        assert self._peer, "it has never been there"
        return self._peer

    async def start(self) -> OfflinePeer:
        """Start the process, at its former address if it had one."""
        port = self._peer.url.rpartition(":")[2] if self._peer else "0"
        self._process = await asyncio.to_thread(
            self._start, ["--port", port, "--script", str(self._script_file), *self._arguments]
        )
        try:
            self._peer = await asyncio.to_thread(when_ready, self._process)
        except AssertionError:
            self.kill()  # another process may have its port by now
            raise
        return self._peer

    async def follow(self, script: Mapping[str, Any], when_back: Mapping[str, Any]) -> None:
        """Replace the script from the next connection on; after the next start the peer follows `when_back`."""
        if self._process is None:
            await self.start()
        self._script_file.write_text(json.dumps(when_back))
        await self.peer.follow(script)

    def kill(self) -> None:
        """Kill the process: connections break, and new ones are refused."""
        if self._process:
            self._process.kill()
            end(self._process)
            self._process = None


@asynccontextmanager
async def restartable_peer(
    script_file: Path, script: Mapping[str, Any], *arguments: str, start: Start = start
) -> AsyncIterator[RestartablePeer]:
    """Yield a running peer that keeps its script in that file, and kill it at the end."""
    peer = RestartablePeer(script_file, script, *arguments, start=start)
    await peer.start()
    try:
        yield peer
    finally:
        peer.kill()
