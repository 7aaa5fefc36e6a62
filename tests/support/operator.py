"""What an operator of a running server sees of its calls."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.support.running_server import RunningServer

ADMIN = "an-admin-token-of-24-characters"
"""The ADMIN_TOKEN that the server has."""


async def sessions(server: RunningServer) -> list[dict[str, Any]]:
    """The sessions as an operator sees them, newest first."""
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        answer = await http.get(f"{server.url}/api/admin/overview")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["sessions"]
        return found
