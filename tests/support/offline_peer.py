"""The offline server as a test peer: a real process on a free port, ended by its pid."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parents[2]
READY_TIMEOUT_S = 20.0
END_TIMEOUT_S = 5.0


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
        """Replace the script from the next connection on; None goes back to the demonstration."""
        async with httpx2.AsyncClient(timeout=5) as http:
            answer = await http.post(self.url + "/debug/script", content=json.dumps(script) if script else "")
            assert answer.status_code == 200, answer.text


@asynccontextmanager
async def offline_peer(script: Mapping[str, Any] | None = None, *arguments: str) -> AsyncIterator[OfflinePeer]:
    """Start `python -m backend.offline` with a script (None: the demonstration), end it on the way out."""
    with tempfile.TemporaryDirectory() as folder:
        options = [*arguments]
        if script is not None:
            path = Path(folder) / "script.json"
            await asyncio.to_thread(path.write_text, json.dumps(script))
            options += ["--script", str(path)]
        process = await _start(options)
        try:
            yield OfflinePeer(await _address(process), process.pid)
        finally:
            await _end(process)


async def _start(options: list[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "backend.offline", "--exit-with-parent", *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout
    line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_S)
    assert line, "the offline server ended before it was ready"
    address: str = json.loads(line)["listening"]
    return address


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
