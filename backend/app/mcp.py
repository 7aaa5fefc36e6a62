"""This module opens the MCP endpoints and the tools of other servers. It imports the slow SDK only if they are used."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from backend.mcp.endpoint import PATHS, Endpoint
from backend.settings.mcp import McpSettings
from backend.tools.registry import Registry

if TYPE_CHECKING:
    from backend.mcp.remote_servers import RemoteServers


def mcp_summary(settings: McpSettings, *, keyed: bool) -> str:
    """Return a line for the operator: the paths of the tools, and the servers in use; empty when there are none."""
    others = ", ".join(settings.entries)
    served = f"tools served at {', '.join(PATHS.values())}" if keyed else ""
    parts = [served, f"tools used of {others}" if others else ""]
    return "; ".join(filter(None, parts))


@asynccontextmanager
async def other_servers(settings: McpSettings) -> AsyncIterator[RemoteServers | None]:
    """Connect to the servers in the settings until the block ends. Yields None if there are none."""
    entries = settings.entries
    if not entries:
        yield None
        return
    from backend.mcp.remote_servers import RemoteServers

    _silence_sdk_logs()
    servers = RemoteServers(entries)
    try:
        yield servers
    finally:
        await servers.close()


@asynccontextmanager
async def served_tools(registry: Registry, *, keyed: bool) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """Yield the endpoints by path. The SDK runs as long as the block.

    There are none unless tokens of API keys are accepted (`keyed`): no program could be admitted.
    """
    if not keyed:
        yield {}
        return
    from backend.mcp.server import session_manager, tool_server

    _silence_sdk_logs()
    manager = session_manager(tool_server(registry))
    async with manager.run():
        yield {path: Endpoint(client, manager.handle_request) for client, path in PATHS.items()}


def _silence_sdk_logs() -> None:
    """Silence the SDK, which logs unreadable messages with a user's words. This server logs what matters itself."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
