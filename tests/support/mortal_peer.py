"""A scripted peer that can die, and come back at the same address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.offline_peer import OfflinePeer, Process, end, start, when_ready


class MortalPeer:
    """A provider of the test's own: `come` starts its process, `go` kills it."""

    def __init__(self, script_file: Path, script: Mapping[str, Any], *arguments: str) -> None:
        self._script_file = script_file
        self._script_file.write_text(json.dumps(script))
        self._arguments = arguments
        self._process: Process | None = None
        self._peer: OfflinePeer | None = None

    @property
    def peer(self) -> OfflinePeer:
        """The address, and the pid of the newest process."""
        assert self._peer, "it has never been there"
        return self._peer

    async def come(self) -> OfflinePeer:
        """Start, at the address of before."""
        port = self._peer.url.rpartition(":")[2] if self._peer else "0"
        self._process = await asyncio.to_thread(
            start, ["--port", port, "--script", str(self._script_file), *self._arguments]
        )
        try:
            self._peer = await asyncio.to_thread(when_ready, self._process)
        except AssertionError:
            self.go()  # its port may have been given to somebody else meanwhile
            raise
        return self._peer

    async def follow(self, script: Mapping[str, Any], when_back: Mapping[str, Any]) -> None:
        """Replace the script from the next connection on; after its death it follows `when_back`."""
        if self._process is None:
            await self.come()
        self._script_file.write_text(json.dumps(when_back))
        await self.peer.follow(script)

    def go(self) -> None:
        """Die at once: connections break, and new ones are refused."""
        if self._process:
            self._process.kill()
            end(self._process)
            self._process = None


@asynccontextmanager
async def mortal_peer(script_file: Path, script: Mapping[str, Any], *arguments: str) -> AsyncIterator[MortalPeer]:
    """A running peer with that script, kept in that file, and these arguments; dead at the end."""
    peer = MortalPeer(script_file, script, *arguments)
    await peer.come()
    try:
        yield peer
    finally:
        peer.go()
