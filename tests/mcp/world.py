"""A whole HTTP edge with its MCP endpoints, and the official SDK's own client in front of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from backend.access.access import Access
from backend.app.mcp import served_tools
from backend.http.limits import Buckets
from backend.settings.mcp import McpSettings
from backend.tools.registry import Registry
from tests.http.world import World
from tests.http.world import world as http_world

INNER, COPILOT, ADAS, STRANGERS = (f"{name}-{'t' * 24}" for name in ("inner", "copilot", "adas", "strangers"))
TOKENS = {
    "internal_tokens": INNER,
    "copilot_tokens": f"{COPILOT}, ada:{ADAS}",
    "external_tokens": STRANGERS,
}


@asynccontextmanager
async def world(
    folder: Path, registry: Registry, http: dict[str, Any] | None = None, access: Access | None = None, **settings: Any
) -> AsyncIterator[World]:
    """A server whose MCP endpoints serve `registry`; `settings` are those of MCP, `http` the others."""
    made = McpSettings(**TOKENS | settings)
    now = [0.0]
    services: dict[str, Any] = {"access": access} if access else {}
    requests = Buckets(made.per_minute, what="requests of this token")
    async with (
        served_tools(
            made,
            registry,
            keyed=access is not None and "key" in access.modes,
            rate_limit=lambda token: requests.take(token, now[0]),
        ) as endpoints,
        http_world(folder, services_with=services | {"endpoints": endpoints}, mcp=made, **http or {}) as here,
    ):
        here.now = now
        yield here


@asynccontextmanager
async def client(url: str, token: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """The SDK's client, connected."""
    async with (
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {token}"} | headers, trust_env=False, verify=False, timeout=10
        ) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as connected,
    ):
        yield connected


def content_of(result: Any) -> dict[str, Any]:
    """A result's data; its text must say the same."""
    data: dict[str, Any] = result.structured_content
    assert [block.type for block in result.content] == ["text"]
    return data
