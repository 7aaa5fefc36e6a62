"""The services behind HTTP routes, for tests that need a few of them."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from fakeredis import FakeAsyncRedis
from redis.asyncio import Redis

from backend.access.access import Access
from backend.access.billing import BillingSubjects
from backend.access.budgets import Budgets
from backend.access.concurrency import ConcurrencyLimits
from backend.access.principal import ToolScope
from backend.access.store import AccessStore
from backend.access.usage import DayCounts
from backend.http.services import (
    CallServices,
    DataServices,
    NewsServices,
    PeopleServices,
    Services,
    StateServices,
    WorkServices,
)
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
    """Return budgets with their counts in `redis`. Only spending writes."""
    settings = settings or load_settings(_env_file=None).budgets
    return Budgets(DayCounts(redis), BillingSubjects(redis), ConcurrencyLimits(redis, settings), settings)


GROUPS: dict[str, Any] = {
    "calls": CallServices,
    "people": PeopleServices,
    "data": DataServices,
    "work": WorkServices,
    "news": NewsServices,
    "state": StateServices,
}


def services_of(**given: Any) -> Services:
    """Return services with only the given ones; the others are missing or idle, and a route that needs one fails."""
    idle: dict[str, Any] = {
        "notices": _NoNotices(),
        "toolbox": Registry([], {}),
        "endpoints": {},
        "ice_servers": IceServers([]),
        "confirmations": confirmations(),
        "access": Access(scope_here=ToolScope.OPERATOR),  # as `make run` on this machine
        "metrics": CallMetrics(),
        "access_store": AccessStore(FakeAsyncRedis()),
    }
    if "budgets" not in given:
        given["budgets"] = budgets_over(FakeAsyncRedis(), given["settings"].budgets if "settings" in given else None)
    here = idle | given
    grouped = {name: _made(kind, here) for name, kind in GROUPS.items()}
    services: Services = _made(Services, here | grouped)
    return services


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return a `kind` with the matching `values`. A missing value without a default is None."""
    required = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}
    names = [each.name for each in fields(kind)]
    return kind(**dict.fromkeys(required) | {name: values[name] for name in names if name in values})
