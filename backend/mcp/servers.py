"""All other servers: what they offer together, and how they fare."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from backend.mcp.remote import CLOSE_WITHIN_S, RemoteServer, wait_s
from backend.settings.mcp import McpServerEntry
from backend.tools.base import Tool


class Servers:
    """A `ToolSource`. Begun at once and never waited for; `close` ends every connection and process."""

    def __init__(self, entries: Mapping[str, McpServerEntry], *, wait: Callable[[int], float] = wait_s) -> None:
        self._servers = {name: RemoteServer(name, entry, wait=wait) for name, entry in entries.items()}
        self._tasks = [
            asyncio.create_task(server.run(), name=f"tools of {name}") for name, server in self._servers.items()
        ]

    def __repr__(self) -> str:
        return f"Servers({', '.join(map(repr, self._servers.values()))})"

    def owns(self, name: str) -> bool:
        """See `ToolSource`."""
        server, separator, tool = name.partition("__")
        return bool(separator and tool) and server in self._servers

    def tools(self) -> Mapping[str, Tool]:
        """See `ToolSource`."""
        return {name: tool for server in self._servers.values() for name, tool in server.tools.items()}

    def states(self) -> dict[str, str]:
        """Each server's name → `ok`, or what is wrong."""
        return {name: server.state for name, server in self._servers.items()}

    async def close(self) -> None:
        """End all of them, together; whoever does not end in time is left to the operating system."""
        for server in self._servers.values():
            server.end()
        if self._tasks:
            _, slow = await asyncio.wait(self._tasks, timeout=CLOSE_WITHIN_S)
            for task in slow:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*slow, return_exceptions=True)
