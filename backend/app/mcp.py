"""Opens the MCP endpoints and the tools of other servers; the SDK, slow to import, is imported when they are used."""

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
    """Return for the operator where tools are served and which servers are used; empty when there are none."""
    others = ", ".join(settings.entries)
    served = f"tools served at {', '.join(PATHS.values())}" if keyed else ""
    parts = [served, f"tools used of {others}" if others else ""]
    return "; ".join(filter(None, parts))


@asynccontextmanager
async def other_servers(settings: McpSettings) -> AsyncIterator[RemoteServers | None]:
    """Connect to the servers in the settings until the block ends; yields None where there are none."""
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

    There are none unless tokens of API keys are taken (`keyed`): no program could be admitted.
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
    """The SDK logs messages it cannot read as they are, and they may hold a user's words. We say what matters."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
