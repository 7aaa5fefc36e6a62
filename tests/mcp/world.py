"""An HTTP server with its MCP endpoints, and the client of the official SDK."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from backend.access.access import Access
from backend.access.keys import ApiKeys
from backend.access.principal import Grant
from backend.app.mcp import served_tools
from backend.settings.access import AccessMode
from backend.tools.registry import Registry
from tests.http.world import World
from tests.http.world import world as http_world

SECRET = "s" * 32
ADA = "shop.ada"


def token(*grants: str, sub: str = "ada", **claims: Any) -> str:
    """Return a token signed by the key `shop`."""
    granted = dict.fromkeys(grants, True) | {name: claims.pop(name) for name in ("tools",) if name in claims}
    return ApiKeys({"shop": SECRET}).sign("shop", {"sub": sub, "grants": granted, **claims})


INNER, COPILOT, STRANGERS = token("mcp", "on_behalf", sub="desk"), token("mcp_copilot"), token("mcp_external")


@asynccontextmanager
async def world(folder: Path, registry: Registry, *modes: AccessMode, **settings: Any) -> AsyncIterator[World]:
    """Run a server with MCP endpoints for the tools of `registry`, access `modes`, and these settings of MCP."""
    access = Access(frozenset(modes or ("open", "key")))
    async with (
        served_tools(registry, keyed="key" in access.modes) as endpoints,
        http_world(
            folder,
            services_with={"access": access, "endpoints": endpoints},
            allowed_hosts="voice.example.com",
            mcp=settings,
            access=list(access.modes),
            api_keys=f"shop:{SECRET}",
            api_key_grants="shop:" + "+".join(Grant),
        ) as here,
    ):
        yield here


@asynccontextmanager
async def client(url: str, token: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """Yield a connected client of the SDK."""
    async with (
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {token}"} | headers, trust_env=False, verify=False, timeout=10
        ) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as connected,
    ):
        yield connected


def content_of(result: Any) -> dict[str, Any]:
    """Return the data of a result, and assert that its text is the same."""
    data: dict[str, Any] = result.structured_content
    assert [block.type for block in result.content] == ["text"]
    return data
