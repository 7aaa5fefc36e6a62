"""The services behind HTTP routes, for tests that need a few of them."""

from __future__ import annotations

from typing import Any

from backend.access.access import Access
from backend.access.principal import Tier
from backend.http.context import Services
from backend.notifications.notices import Notice
from backend.observability.call_metrics import CallMetrics
from backend.tools.registry import Registry
from backend.transports.webrtc.ice_servers import IceServers
from tests.support.consent import confirmations


class _NoNotices:
    async def waiting(self, user_id: str) -> list[Notice]:
        return []


def services_of(**given: Any) -> Services:
    """Return services of which those that are not given are missing, or idle; a route that needs one fails."""
    missing = ("tasks", "model_calls", "coordinator", "pages", "reminders", "reasoner")
    idle: dict[str, Any] = {
        "notices": _NoNotices(),
        "bearers": lambda token: None,
        "toolbox": Registry([], {}),
        "tool_servers": dict,
        "endpoints": {},
        "ice_servers": IceServers([]),
        "confirmations": confirmations(),
        "access": Access(default_tier=Tier.OPERATOR),  # as `make run` on this machine
        "metrics": CallMetrics(),
    }
    absent: dict[str, Any] = dict.fromkeys(missing)
    return Services(**absent | idle | given)
