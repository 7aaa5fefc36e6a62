"""Opens the budgets of a process, and makes what users' work costs be charged to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from redis.asyncio import Redis

from backend.access.budgets import Budgets
from backend.access.day_counts import DayCounts
from backend.access.new_users import NewUsers
from backend.access.payers import Payers
from backend.access.permits import Permits
from backend.access.usage import TASK, Resource
from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import supervising
from backend.settings.budgets import BudgetSettings

Work = TypeVar("Work")
Result = TypeVar("Result")


@asynccontextmanager
async def open_budgets(
    settings: BudgetSettings, redis: Redis, retention_s: int | None, machine: str = ""
) -> AsyncIterator[Budgets]:
    """Open the budgets; what was charged is written before they close. `retention_s` is how long data is kept."""
    new_s, keep_s = settings.proven_after_h * 3600, settings.new_user_keep_h * 3600
    new_users = NewUsers(redis, new_s=new_s, keep_s=keep_s, retention_s=retention_s)
    permits = Permits(redis, settings, machine=machine)
    budgets = Budgets(DayCounts(redis), Payers(redis), permits, new_users, settings)
    async with (
        supervising("budget counts", budgets.day_counts.run),
        supervising("budget permits", budgets.permits.run),
        supervising("new users", new_users.run),
    ):
        try:
            yield budgets
        finally:
            with suppress(MemoryUnavailable):
                await budgets.day_counts.flush()
                await budgets.day_counts.rank()


def paid_by(
    budgets: Budgets, owner: Callable[[Work], str], work: Callable[[Work], Awaitable[Result]]
) -> Callable[[Work], Awaitable[Result]]:
    """Return `work`, charged to the user that `owner` names."""

    async def paid(each: Work) -> Result:
        async with budgets.payers.paying_for(owner(each)):
            return await work(each)

    return paid


async def admit_task(budgets: Budgets, owner: str) -> None:
    """Charge a new task to its owner. Raises `OverBudget` or `CeilingReached`."""
    async with budgets.payers.paying_for(owner) as payer:
        await budgets.admit(payer, TASK, Counter({Resource.TASKS: 1}))
