"""Puts this room together: the two calls `main` makes. Importing the SDK takes a second: only those who use it do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from backend.mcp.endpoint import PATHS, Door, Served
from backend.mcp.tokens import Tokens
from backend.settings_mcp import McpSettings
from backend.tools.registry import Registry


@asynccontextmanager
async def served_tools(
    settings: McpSettings, registry: Registry, origins: Sequence[str] = ()
) -> AsyncIterator[Mapping[str, Served]]:
    """The doors by path. Those without tokens say what to set; the SDK runs as long as the block."""
    tokens = Tokens(settings)
    if not settings.served:
        yield {path: Door(client, tokens, None) for client, path in PATHS.items()}
        return
    from backend.mcp.server import session_manager, tool_server

    manager = session_manager(tool_server(registry), settings.hosts, origins)
    async with manager.run():
        yield {path: Door(client, tokens, manager.handle_request) for client, path in PATHS.items()}
