"""The services behind HTTP routes, for tests that need a few of them."""

from __future__ import annotations

from typing import Any

from backend.http.context import Services
from backend.notifications.notices import Notice
from backend.observability.call_metrics import CallMetrics


async def _no_notices(user_id: str) -> list[Notice]:
    return []


def services_of(**given: Any) -> Services:
    """Return services of which those that are not given are missing, or idle; a route that needs one fails."""
    missing = ("tasks", "model_calls", "coordinator", "mark_seen", "pages", "reminders", "reasoner")
    idle: dict[str, Any] = {
        "notices": _no_notices,
        "bearers": lambda token: None,
        "tools": lambda client: {"tools": [], "servers": {}},
        "endpoints": {},
        "metrics": CallMetrics(),
    }
    absent: dict[str, Any] = dict.fromkeys(missing)
    return Services(**absent | idle | given)
