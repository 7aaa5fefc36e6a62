"""Opens the budgets of a process, and makes what users' work costs be charged to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from redis.asyncio import Redis

from backend.budgets.budgets import Budgets
from backend.budgets.ledger import Ledger
from backend.budgets.payers import Payers
from backend.budgets.permits import Permits
from backend.budgets.usage import TASK, Resource
from backend.errors import MemoryUnavailable
from backend.runtime.supervisor import supervising
from backend.settings.budgets import BudgetSettings

Work = TypeVar("Work")
Result = TypeVar("Result")


@asynccontextmanager
async def open_budgets(settings: BudgetSettings, redis: Redis) -> AsyncIterator[Budgets]:
    """Open the budgets; what was charged is written before they close."""
    budgets = Budgets(Ledger(redis), Payers(redis), Permits(redis, settings), settings)
    async with supervising("budget ledger", budgets.ledger.run), supervising("budget permits", budgets.permits.run):
        try:
            yield budgets
        finally:
            with suppress(MemoryUnavailable):
                await budgets.ledger.flush()


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
