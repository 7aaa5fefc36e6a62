"""One other server: connected to, listened to, and connected to again when it is gone.

connect ─▶ list its tools ─▶ they are there ─▶ listed again now and then, and whenever something seems wrong
   ▲                                              │ no answer, or its process ended
   └── wait, longer each time ◀── its tools vanish ┘

It has one task, which owns the connection and, of a server that is a program, the process. Nobody ever waits for it: a
turn sees the tools that are there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TextIO

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
from backend.mcp.offered import ERROR_LIMIT, Origin, tools_of
from backend.settings.mcp import McpServerEntry
from backend.tools.base import Json, Tool

log = logging.getLogger(__name__)

CONNECT_WITHIN_S = 20.0
"""Seconds a server may take to start and to shake hands."""
LIST_WITHIN_S = 10.0
PAGES_LIMIT = 20
REFRESH_S = 30.0
"""Seconds between two looks at what a server offers, which also tell whether it is still there."""
SLACK_S = 2.0
"""How much longer than the tool's deadline a call may take on the wire: the deadline is the registry's to enforce."""
LONGEST_WAIT_S = 60.0
STEADY_S = 30.0
"""A connection that held this long is a good one: what comes after it counts from the beginning."""
CLOSE_WITHIN_S = 10.0
"""Seconds its end may take; a program gets two to end by itself, then a signal, then no choice."""
LOST = (
    OSError,
    httpx2.HTTPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    ValidationError,
)
"""How a call fails when the server or the way to it is at fault."""

Streams = AbstractAsyncContextManager[Any]


def wait_s(failures: int, spread: Callable[[], float] = random.random) -> float:
    """Seconds before the next attempt: 1, 2, 4 … 60, each up to a quarter more, so that many do not come at once."""
    return float(min(LONGEST_WAIT_S, 2.0 ** max(0, failures - 1)) * (1 + spread() / 4))


class RemoteServer:
    """See above. `run` is its task."""

    def __init__(self, name: str, entry: McpServerEntry, *, wait: Callable[[int], float] = wait_s) -> None:
        self.name = name
        self._entry = entry
        self._wait = wait
        self._client: Client | None = None
        self._tools: Mapping[str, Tool] = {}
        self._trouble = "connecting"
        self._look = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._starting = self._ending = False

    def __repr__(self) -> str:
        return f"RemoteServer({self.name}: {self.state}, {len(self._tools)} tools)"

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Those that are there now."""
        return self._tools

    @property
    def state(self) -> str:
        """`ok`, or what is wrong."""
        return self._trouble or "ok"

    async def run(self) -> None:
        """Keep connected until `end`."""
        failures = 0
        with self._scope:
            while not self._ending:
                began = asyncio.get_running_loop().time()
                try:
                    await self._connected()
                except Exception as error:  # noqa: BLE001 - whatever a stranger's server does costs its tools, nothing else
                    reason = why(error)
                finally:
                    self._client, self._tools = None, {}
                failures = 1 if asyncio.get_running_loop().time() - began > STEADY_S else failures + 1
                pause = self._wait(failures)
                self._trouble = f"{reason}; next attempt in {pause:.0f} s"
                log.warning("the tools of %s are gone: %s", self.name, self._trouble)
                await asyncio.sleep(pause)

    def end(self) -> None:
        """Close the connection and end the process; `run` returns then. A program is not left while it is begun."""
        self._ending = True
        if not self._starting:
            self._scope.cancel()

    async def call(self, tool: str, values: Json) -> CallToolResult:
        """One call, by the server's own name for the tool. Raises `ToolFailed`."""
        if self._client is None:
            raise ToolFailed(f"{self.name} is not connected.", hint="Answer without it, or try again later.")
        try:
            return await self._client.call_tool(tool, values, read_timeout_seconds=self._entry.deadline_s + SLACK_S)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                self._look.set()
                raise ToolFailed(f"{self.name} went away.", hint="Answer without it, or try again later.") from error
            raise ToolFailed(f"{self.name} refused: {error.message[:ERROR_LIMIT]}") from error
        except LOST as error:
            self._look.set()
            raise ToolFailed(f"{self.name} does not answer.", hint="Answer without it, or try again later.") from error
        except RuntimeError as error:  # the SDK's: closed meanwhile, or the server asks the user for more and more
            raise ToolFailed(f"{self.name} could not be used.") from error

    async def _connected(self) -> None:
        """One connection, from its beginning to its end. Always ends by an exception."""
        self._look.clear()
        async with AsyncExitStack() as stack:
            client = Client(
                await self._way_to_it(stack),
                cache=None,
                client_info=Implementation(name="responder-thinker", version="1"),
                message_handler=self._heard,
                read_timeout_seconds=LIST_WITHIN_S,
            )
            async with asyncio.timeout(CONNECT_WITHIN_S):
                await stack.enter_async_context(client)
            while True:
                self._offer(await self._listed(client))
                self._client = client
                await self._something_or(REFRESH_S)

    async def _way_to_it(self, stack: AsyncExitStack) -> Streams:
        entry = self._entry
        if entry.url:
            timeout = httpx2.Timeout(LIST_WITHIN_S, read=entry.deadline_s + LIST_WITHIN_S)
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=entry.headers, timeout=timeout))
            return streamable_http_client(entry.url, http_client=http)
        parameters = StdioServerParameters(command=entry.command, args=entry.args, env=entry.env, cwd=entry.cwd)
        return self._noticed(self._program(parameters))

    @asynccontextmanager
    async def _noticed(self, streams: Streams) -> AsyncIterator[tuple[Any, Any]]:
        """The same streams; when the program's output ends, so does it, and that is looked into at once."""
        async with streams as (read, write), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[Any](0)

            async def forward() -> None:
                async with send:
                    async for message in read:
                        await send.send(message)
                self._look.set()

            group.start_soon(forward)
            async with receive:
                yield receive, write
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def _program(self, parameters: StdioServerParameters) -> AsyncIterator[tuple[Any, Any]]:
        """A server that is a program, its complaints passed on or dropped."""
        self._starting = True  # cancelled in between, its process would belong to nobody
        try:
            with _complaints(self._entry.stderr) as errors:
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

    def _offer(self, listed: list[Listed]) -> None:
        fresh = tools_of(Origin(self.name, self._entry, self.call), listed)
        if self._trouble:
            log.info("%s offers %d tools", self.name, len(fresh))
        self._tools, self._trouble = fresh, ""

    async def _something_or(self, seconds: float) -> None:
        """Until there is reason to look, or for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return
        self._look.clear()

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._look.set()


def _complaints(passed_on: bool) -> TextIO:
    return os.fdopen(os.dup(2), "w") if passed_on else open(os.devnull, "w")  # noqa: PTH123 - a device, not a path


def why(error: BaseException) -> str:
    """What went wrong, without addresses or anybody's words."""
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
