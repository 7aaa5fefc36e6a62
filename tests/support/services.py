"""The services behind HTTP routes, for tests that need a few of them."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from backend.access.access import Access
from backend.access.budgets import Budgets
from backend.access.day_counts import DayCounts
from backend.access.new_users import NewUsers
from backend.access.payers import Payers
from backend.access.permits import Permits
from backend.access.principal import Tier
from backend.access.store import AccessStore
from backend.http.context import Services
from backend.notifications.notices import Notice
from backend.observability.call_metrics import CallMetrics
from backend.settings.budgets import BudgetSettings
from backend.settings.settings import load_settings
from backend.tools.registry import Registry
from backend.transports.webrtc.ice_servers import IceServers
from tests.support.consent import confirmations


class _NoNotices:
    async def waiting(self, user_id: str) -> list[Notice]:
        return []


def budgets_over(redis: Redis, settings: BudgetSettings | None = None) -> Budgets:
    """Return budgets whose counts are in `redis`; nothing is written but by those who ask for it."""
    settings = settings or load_settings(_env_file=None).budgets
    new_users = NewUsers(redis, new_s=86_400, keep_s=3 * 86_400, retention_s=None)
    return Budgets(DayCounts(redis), Payers(redis), Permits(redis, settings), new_users, settings)


def services_of(**given: Any) -> Services:
    """Return services of which those that are not given are missing, or idle; a route that needs one fails."""
    missing = (
        "tasks",
        "model_calls",
        "coordinator",
        "pages",
        "reminders",
        "reasoner",
        "ledger",
        "ice_config",
    )
    idle: dict[str, Any] = {
        "notices": _NoNotices(),
        "toolbox": Registry([], {}),
        "tool_servers": dict,
        "endpoints": {},
        "ice_servers": IceServers([]),
        "confirmations": confirmations(),
        "access": Access(default_tier=Tier.OPERATOR),  # as `make run` on this machine
        "metrics": CallMetrics(),
        "access_store": AccessStore(FakeAsyncRedis()),
    }
    if "budgets" not in given:
        given["budgets"] = budgets_over(FakeAsyncRedis(), given["settings"].budgets if "settings" in given else None)
    absent: dict[str, Any] = dict.fromkeys(missing)
    return Services(**absent | idle | given)
