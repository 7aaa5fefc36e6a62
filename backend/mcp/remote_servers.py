"""Connections to other MCP servers: connect, list the tools, reconnect after a failure.

connect ─▶ list its tools ─▶ tools available ─▶ listed again periodically, and whenever something seems wrong
   ▲                                              │ no answer, or its process ended
   └── wait, longer each time ◀── tools removed ──┘

Each server has one supervised task, which owns the connection and, for a server that is a program, the process. Nothing
waits for it: a turn sees the tools that are available.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, ToolListChangedNotification
from mcp_types import Tool as Listed
from pydantic import ValidationError

from backend.errors import ToolFailed
from backend.mcp.remote_tools import ERROR_LIMIT, Origin, tools_of
from backend.runtime.supervisor import supervised
from backend.settings.mcp import McpServerEntry
from backend.tools.base import Tool

log = logging.getLogger(__name__)

CONNECT_WITHIN_S = 20.0
"""Seconds a server may take to start and to complete the handshake."""
LIST_WITHIN_S = 10.0
PAGES_LIMIT = 20
REFRESH_S = 30.0
"""Seconds between two listings of a server's tools, which also show whether it still answers."""
SLACK_S = 2.0
"""Seconds a request may outlast the tool's deadline, which the toolbox enforces."""
LONGEST_WAIT_S = 60.0
STEADY_S = 30.0
"""Seconds after which a connection counts as stable: failures are counted from zero again."""
CLOSE_WITHIN_S = 10.0
"""Seconds a server may take to end; a program gets two to end by itself, then SIGTERM, then SIGKILL."""
LOST = (
    OSError,
    httpx2.HTTPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    ValidationError,
)
"""The errors of a call when the server or the connection to it is at fault."""

Streams = AbstractAsyncContextManager[Any]


def wait_s(failures: int, spread: Callable[[], float] = random.random) -> float:
    """Return the seconds before the next attempt: 1, 2, 4 … 60, plus up to a quarter, to spread reconnections."""
    return float(min(LONGEST_WAIT_S, 2.0 ** max(0, failures - 1)) * (1 + spread() / 4))


class RemoteServer:
    """One other server. `run` is the task that keeps it connected."""

    def __init__(self, name: str, entry: McpServerEntry, *, wait: Callable[[int], float] = wait_s) -> None:
        self.name = name
        self._entry = entry
        self._wait = wait
        self._client: Client | None = None
        self.tools: Mapping[str, Tool] = {}
        """The tools that are available now, by name."""
        self.state = "connecting"
        """The state for the operator: `ok`, or what is wrong."""
        self._changed = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._starting = self._ending = False

    async def run(self) -> None:
        """Stay connected until `end`."""
        failures = 0
        with self._scope:
            while not self._ending:
                began = asyncio.get_running_loop().time()
                try:
                    await self._connected()
                except Exception as error:  # noqa: BLE001 - a foreign server's fault costs its tools, nothing else
                    reason = why(error)
                finally:
                    self._client, self.tools = None, {}
                failures = 1 if asyncio.get_running_loop().time() - began > STEADY_S else failures + 1
                pause = self._wait(failures)
                self.state = f"{reason}; next attempt in {pause:.0f} s"
                log.warning("the tools of %s are unavailable: %s", self.name, self.state)
                await asyncio.sleep(pause)

    def end(self) -> None:
        """Close the connection and end the process, so that `run` returns. A starting program is not abandoned."""
        self._ending = True
        if not self._starting:
            self._scope.cancel()

    async def call(self, tool: str, values: Mapping[str, Any]) -> CallToolResult:
        """Call a tool by the server's own name for it. Raises `ToolFailed`."""
        if self._client is None:
            raise ToolFailed(f"{self.name} is not connected.", hint="Answer without it, or try again later.")
        try:
            return await self._client.call_tool(
                tool, dict(values), read_timeout_seconds=self._entry.deadline_s + SLACK_S
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                self._changed.set()
                raise ToolFailed(f"{self.name} has stopped.", hint="Answer without it, or try again later.") from error
            raise ToolFailed(f"{self.name} refused: {error.message[:ERROR_LIMIT]}") from error
        except LOST as error:
            self._changed.set()
            raise ToolFailed(f"{self.name} does not answer.", hint="Answer without it, or try again later.") from error
        except RuntimeError as error:  # The connection has closed, or the server keeps asking the user for more.
            raise ToolFailed(f"{self.name} could not be used.") from error

    async def _connected(self) -> None:
        """Hold one connection until it ends, always with an exception."""
        self._changed.clear()
        async with AsyncExitStack() as stack:
            client = Client(
                await self._streams(stack),
                cache=None,
                client_info=Implementation(name="responder-thinker", version="1"),
                message_handler=self._on_message,
                read_timeout_seconds=LIST_WITHIN_S,
            )
            async with asyncio.timeout(CONNECT_WITHIN_S):
                await stack.enter_async_context(client)
            while True:
                fresh = tools_of(Origin(self.name, self._entry, self.call), await self._listed(client))
                if self.state != "ok":
                    log.info("%s offers %d tools", self.name, len(fresh))
                self.tools, self.state, self._client = fresh, "ok", client
                with suppress(TimeoutError):
                    async with asyncio.timeout(REFRESH_S):
                        await self._changed.wait()
                self._changed.clear()

    async def _streams(self, stack: AsyncExitStack) -> Streams:
        entry = self._entry
        if entry.url:
            timeout = httpx2.Timeout(LIST_WITHIN_S, read=entry.deadline_s + LIST_WITHIN_S)
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=entry.headers, timeout=timeout))
            return streamable_http_client(entry.url, http_client=http)
        parameters = StdioServerParameters(command=entry.command, args=entry.args, env=entry.env, cwd=entry.cwd)
        return self._program(parameters)

    @asynccontextmanager
    async def _program(self, parameters: StdioServerParameters) -> AsyncIterator[tuple[Any, Any]]:
        """Run a server that is a program, and drop its error output."""
        self._starting = True  # A process that is cancelled in between would have no owner.
        try:
            with os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as errors:
                async with stdio_client(parameters, errlog=errors) as streams:
                    self._starting = False
                    if self._ending:
                        self._scope.cancel()
                    yield streams
        finally:
            self._starting = False

    async def _listed(self, client: Client) -> list[Listed]:
        listed: list[Listed] = []
        cursor: str | None = None
        async with asyncio.timeout(LIST_WITHIN_S):
            for _ in range(PAGES_LIMIT):
                page = await client.list_tools(cursor=cursor)
                listed += page.tools
                if (cursor := page.next_cursor) is None:
                    break
        return listed

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()


class RemoteServers:
    """All other servers as one `ToolSource`, connected in the background; `close` ends every connection and process."""

    def __init__(self, entries: Mapping[str, McpServerEntry], *, wait: Callable[[int], float] = wait_s) -> None:
        self._servers = {name: RemoteServer(name, entry, wait=wait) for name, entry in entries.items()}
        self._tasks = [supervised(f"mcp server {name}", server.run) for name, server in self._servers.items()]

    def owns(self, name: str) -> bool:
        server, separator, tool = name.partition("__")
        return bool(separator and tool) and server in self._servers

    def tools(self) -> Mapping[str, Tool]:
        return {name: tool for server in self._servers.values() for name, tool in server.tools.items()}

    def states(self) -> dict[str, str]:
        """Return each server's name with its state: `ok`, or what is wrong."""
        return {name: server.state for name, server in self._servers.items()}

    async def close(self) -> None:
        """End all servers in parallel; those that do not end in time are left to the operating system."""
        for server in self._servers.values():
            server.end()
        if self._tasks:
            _, slow = await asyncio.wait(self._tasks, timeout=CLOSE_WITHIN_S)
            for task in slow:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*slow, return_exceptions=True)


def why(error: BaseException) -> str:
    """Return the cause of a failure, without addresses or users' words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case TimeoutError():
            return "no answer in time"
        case FileNotFoundError():
            return "its command was not found"
        case MCPError():
            return f"it answered with error {error.code}"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case _:
            return type(error).__name__
