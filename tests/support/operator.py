"""The calls of a running server, as its operator sees them."""

from typing import Any

import httpx2

from tests.support.running_server import RunningServer

ADMIN = "an-admin-token-of-24-characters"
"""The server's ADMIN_TOKEN."""


async def sessions(server: RunningServer) -> list[dict[str, Any]]:
    """The sessions as an operator sees them, newest first."""
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        answer = await http.get(f"{server.url}/api/admin/overview")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["sessions"]
        return found
