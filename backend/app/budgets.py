"""This module opens the budgets of a process, and charges work to the users that it is done for."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from redis.asyncio import Redis

from backend.access.billing import BillingSubjects
from backend.access.budgets import Budgets, Refund
from backend.access.concurrency import ConcurrencyLimits
from backend.access.usage import TASK, DayCounts, Resource
from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import supervising
from backend.settings.budgets import BudgetSettings

Work = TypeVar("Work")
Result = TypeVar("Result")


@asynccontextmanager
async def open_budgets(settings: BudgetSettings, redis: Redis, machine: str = "") -> AsyncIterator[Budgets]:
    """Open the budgets. Charges are written before they close."""
    limits = ConcurrencyLimits(redis, settings, machine=machine)
    budgets = Budgets(DayCounts(redis), BillingSubjects(redis), limits, settings)
    async with (
        supervising("budget counts", budgets.day_counts.run),
        supervising("budget permits", budgets.concurrency.run),
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
        async with budgets.billing.billing_to(owner(each)):
            return await work(each)

    return paid


async def admit_task(budgets: Budgets, owner: str) -> Refund:
    """Charge a task to its owner, and return what takes the charge back. Raises `OverBudget` or `CeilingReached`."""
    async with budgets.billing.billing_to(owner) as billed:
        return await budgets.admit(billed, TASK, Counter({Resource.TASKS: 1}))
