"""Budgets admit work that costs something, and charge for it.

await budgets.admit(billed, TURN)            # before: raises when a budget of the billing subject is used up
budgets.charge(billed, Counter({...}))       # after, without waiting: tokens, seconds, bytes
budgets.excess(billed, CALL)                 # during: the budget that is used up as far as this process knows
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as Count

from backend.access.billing import BillingSubject, BillingSubjects
from backend.access.concurrency import ConcurrencyLimits
from backend.access.prices import price_table
from backend.access.usage import EVERYBODY, DayCounts, Resource, Subject, SubjectKind, Usage
from backend.errors import CeilingReached, MemoryUnavailable, OverBudget
from backend.observability.security_log import SecurityEvent, security_event
from backend.runtime.json_objects import Json
from backend.settings.budgets import BudgetSettings

DAY_S = 86_400
NOTHING: Usage = Counter()
WORDS = {
    Resource.MODEL_TOKENS: "model tokens",
    Resource.VOICE_SECONDS: "voice minutes",
    Resource.TASKS: "background tasks",
    Resource.KEPT_BYTES: "stored bytes",
    Resource.MICRO_USD: "money",
    Resource.NEW_USERS: "new users",
}
OWNERS = {
    SubjectKind.USER: ("Your budget", "It begins again at midnight UTC."),
    SubjectKind.ADDRESS: ("Your address's budget", "It begins again at midnight UTC; signed-in users have their own."),
    SubjectKind.KEY: ("The budget of this API key", "It begins again at midnight UTC; the operator can raise it."),
    SubjectKind.TOTAL: ("This server's budget", "It begins again at midnight UTC, or raise BUDGETS__TOTAL__…."),
}
"""Of each kind, the owner of its budget, and what to do about it."""
RANKED = (SubjectKind.USER, SubjectKind.ADDRESS, SubjectKind.KEY)
"""The scopes for which the operator sees who used most."""


Limits: TypeAlias = Mapping[SubjectKind, Mapping[Resource, int]]
"""Of each kind, the most that may be used in a day; what is missing, or 0, has no limit."""


class Excess(NamedTuple):
    """A budget that is used up."""

    kind: SubjectKind
    resource: Resource
    limit: int


def limits_of(settings: BudgetSettings) -> Limits:
    """Return the limits that the settings set, in the units of `Resource`."""
    kinds = {
        SubjectKind.USER: settings.user,
        SubjectKind.ADDRESS: settings.address,
        SubjectKind.KEY: settings.key,
        SubjectKind.TOTAL: settings.total,
    }
    limits = {
        kind: {
            Resource.MODEL_TOKENS: budget.model_tokens,
            Resource.VOICE_SECONDS: round(budget.voice_minutes * 60),
            Resource.TASKS: budget.tasks,
            Resource.KEPT_BYTES: budget.kept_kilobytes * 1000,
            Resource.MICRO_USD: round(budget.usd * 1_000_000),
        }
        for kind, budget in kinds.items()
    }
    limits[SubjectKind.ADDRESS][Resource.NEW_USERS] = settings.new_users_per_day
    return limits


Refund = Callable[[], None]
"""Takes a charge back. Is called once at most."""


class Budgets:
    """The budgets as one process sees them; all processes share the counts."""

    def __init__(
        self,
        day_counts: DayCounts,
        billing: BillingSubjects,
        concurrency: ConcurrencyLimits,
        settings: BudgetSettings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives Unix time in seconds."""
        self.day_counts = day_counts
        self.billing = billing
        self.concurrency = concurrency
        self.settings = settings
        self.prices = price_table(settings.prices)
        self._limits = limits_of(settings)
        self._clock = clock
        self.refusals: Counter[tuple[SubjectKind, Resource]] = Counter()
        self._refused: Count | None = None

    async def admit(self, billed: BillingSubject, needs: frozenset[Resource], wanted: Usage = NOTHING) -> Refund:
        """Charge `wanted` if the budgets have room for it and for at least a little of each resource in `needs`.

        Returns what takes the charge back, for work that is not done after all. Takes one round trip. While Redis does
        not answer, the counts that this process knows decide. Raises `OverBudget`, or `CeilingReached` for the server's
        own budget, and then charges nothing.
        """
        if not billed.exempt:
            with suppress(MemoryUnavailable):
                await self.billing.note(billed)
                await self.day_counts.read(billed.subjects)
            self.check(billed, needs, wanted)
        self.day_counts.charge(billed.subjects, wanted)
        back = Counter({resource: -amount for resource, amount in wanted.items()})
        return partial(self.day_counts.charge, billed.subjects, back)

    def check(self, billed: BillingSubject, needs: frozenset[Resource], wanted: Usage = NOTHING) -> None:
        """Raise `OverBudget` or `CeilingReached` when a budget is used up, as far as this process knows."""
        if found := self.excess(billed, needs, wanted):
            raise self._refusal(billed, found)

    def charge(self, billed: BillingSubject, amounts: Usage) -> None:
        """Charge `amounts`. Never waits."""
        self.day_counts.charge(billed.subjects, amounts)

    def charge_tokens(self, billed: BillingSubject, model: str, tokens_in: int, tokens_out: int) -> None:
        """Charge the tokens of a model, and their price, if it has one. Never waits."""
        cost = self.cost_of(model, tokens_in, tokens_out)
        self.charge(billed, Counter({Resource.MODEL_TOKENS: tokens_in + tokens_out, Resource.MICRO_USD: cost or 0}))

    def cost_of(self, model: str, tokens_in: int, tokens_out: int) -> int | None:
        """Return what these tokens of a model cost, in millionths of a dollar; None: the model has no price."""
        price = self.prices.get(model)
        return price.micro_usd({"text_in": tokens_in, "text_out": tokens_out}) if price else None

    def excess(self, billed: BillingSubject, needs: frozenset[Resource], wanted: Usage = NOTHING) -> Excess | None:
        """Return the budget that is used up, as far as this process knows; None when there is room."""
        if billed.exempt:
            return None
        for subject in billed.subjects:
            used, limits = self.day_counts.known(subject), self._limits_of(subject)
            for resource in sorted(needs):
                limit = limits.get(resource)
                if limit is not None and used[resource] + max(1, wanted[resource]) > limit:
                    return Excess(subject.kind, resource, limit)
        return None

    async def admits_new_user(self, billed: BillingSubject) -> bool:
        """Count one more new user at the billing subject's address, and return whether it may have that many."""
        address = [subject for subject in billed.subjects if subject.kind is SubjectKind.ADDRESS]
        limit = self.settings.new_users_per_day
        # Nothing limits such a caller.
        if billed.exempt or not limit or not address:
            return True
        with suppress(MemoryUnavailable):
            await self.day_counts.read(address)
        if self.day_counts.known(address[0])[Resource.NEW_USERS] >= limit:
            self.stop(billed, Excess(SubjectKind.ADDRESS, Resource.NEW_USERS, limit))
            return False
        self.day_counts.charge(address, Counter({Resource.NEW_USERS: 1}))
        return True

    async def shown_to(self, billed: BillingSubject) -> Json:
        """Return the day's usage and limits as `GET /api/me/usage` shows them. Raises `MemoryUnavailable`."""
        own = [subject for subject in billed.subjects if subject != EVERYBODY]
        await self.day_counts.read(own)
        return {
            "resets_in_s": self._left_s(),
            "limited": not billed.exempt,
            **{subject.kind.value: self._shown(subject, self.day_counts.known(subject)) for subject in own},
        }

    async def total(self) -> Json:
        """Return the usage of all users together, the ceiling, and who used most, for the admin page.

        Raises `MemoryUnavailable`.
        """
        await self.day_counts.read([EVERYBODY])
        refused = {f"{kind}.{resource}": count for (kind, resource), count in self.refusals.items()}
        used = self._shown(EVERYBODY, self.day_counts.known(EVERYBODY))
        shown = {"resets_in_s": self._left_s(), "refused": refused, **used}
        return shown | {"top": {kind.value: await self._top(kind) for kind in RANKED}}

    def stop(self, billed: BillingSubject, found: Excess) -> None:
        """Count and log that running work is stopped because a budget is used up."""
        self.refusals[found.kind, found.resource] += 1
        if self._refused is not None:
            self._refused.labels(found.kind.value, found.resource.value).inc()
        budget = f"{found.kind.value}.{found.resource.value}"
        security_event(SecurityEvent.BUDGET_STOPPED, billed, "a budget is used up", budget=budget, limit=found.limit)

    def register_in(self, registry: CollectorRegistry) -> None:
        """Show the usage of all users together, the ceiling and the refusals in `/metrics`."""
        used = Gauge("voice_budget_used", "What all users have used today.", ["resource"], registry=registry)
        limits = Gauge(
            "voice_budget_limit", "What all users may use in a day; 0: no limit.", ["resource"], registry=registry
        )
        for resource, limit in self._limits[SubjectKind.TOTAL].items():
            used.labels(resource.value).set_function(partial(self._used_by_all, resource))
            limits.labels(resource.value).set(limit)
        self._refused = Count(
            "voice_budget_refusals",
            "Requests refused, and work stopped, for a budget.",
            ["scope", "resource"],
            registry=registry,
        )

    def _limits_of(self, subject: Subject) -> dict[Resource, int]:
        """Return how much the subject may use in a day."""
        return {resource: limit for resource, limit in self._limits.get(subject.kind, {}).items() if limit}

    async def _top(self, kind: SubjectKind) -> list[Json]:
        used = await self.day_counts.top(kind)
        return [{"name": name, **self._shown(Subject(kind, name), usage)} for name, usage in used.items()]

    def _shown(self, subject: Subject, used: Usage) -> Json:
        limits = self._limits_of(subject)
        return {
            "used": {resource.value: used[resource] for resource in self._limits[subject.kind]},
            "limits": {resource.value: limit for resource, limit in limits.items()},
        }

    def _refusal(self, billed: BillingSubject, found: Excess) -> OverBudget | CeilingReached:
        self.stop(billed, found)
        owner, hint = OWNERS[found.kind]
        message = f"{owner} of {WORDS[found.resource]} is used up for today."
        error = CeilingReached if found.kind is SubjectKind.TOTAL else OverBudget
        return error(message, retry_after_s=self._left_s(), hint=hint)

    def _used_by_all(self, resource: Resource) -> int:
        return self.day_counts.known(EVERYBODY)[resource]

    def _left_s(self) -> int:
        """Return the seconds until midnight UTC."""
        return math.ceil(DAY_S - self._clock() % DAY_S)
