"""Budgets admit what costs something, and charge what it has cost.

await budgets.admit(payer, TURN)            # at the door: raises when a budget of the payer is used up
budgets.charge(payer, Counter({...}))       # afterwards, without waiting: tokens, seconds, bytes
budgets.excess(payer, CALL)                 # meanwhile, from what this process knows: is one used up?
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as Count

from backend.access.day_counts import DayCounts
from backend.access.new_users import NewUsers
from backend.access.payers import Payers
from backend.access.permits import Permits
from backend.access.usage import (
    EVERYBODY,
    Excess,
    Payer,
    Resource,
    Scope,
    Subject,
    Usage,
    excess,
    limits_of,
)
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
    Scope.USER: ("Your budget", "It begins again at midnight UTC."),
    Scope.ADDRESS: ("The budget of your address", "It begins again at midnight UTC; users who sign in have their own."),
    Scope.KEY: ("The budget of this API key", "It begins again at midnight UTC; the operator can raise it."),
    Scope.TOTAL: ("This server's budget", "It begins again at midnight UTC; the operator can raise BUDGETS__TOTAL__…."),
}
"""Of each scope, the owner of its budget, and what to do about it."""
RANKED = (Scope.USER, Scope.ADDRESS, Scope.KEY)
"""Of these the operator is shown who used most."""


class Budgets:
    """The budgets of one process, which share their counts with all others."""

    def __init__(
        self,
        day_counts: DayCounts,
        payers: Payers,
        permits: Permits,
        new_users: NewUsers,
        settings: BudgetSettings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives Unix time in seconds."""
        self.day_counts = day_counts
        self.payers = payers
        self.permits = permits
        self.new_users = new_users
        self.settings = settings
        self._limits = limits_of(settings)
        self._clock = clock
        self.refusals: Counter[tuple[Scope, Resource]] = Counter()
        self._refused: Count | None = None

    def __repr__(self) -> str:
        return f"Budgets({self.day_counts!r}, {self.permits!r})"

    async def admit(self, payer: Payer, needs: frozenset[Resource], wanted: Usage = NOTHING) -> None:
        """Charge `wanted`, if the payer's budgets have room for it, and a little of each of `needs`.

        Raises `OverBudget`, or `CeilingReached` for everybody's; nothing is charged then. Takes one round trip. While
        Redis does not answer, what this process knows decides.
        """
        if payer.exempt:
            self.day_counts.charge(payer.subjects, wanted)
            return
        self.new_users.touch(payer.user)
        try:
            await self.payers.note(payer)
            used = await self.day_counts.take(payer.subjects, wanted)
        except MemoryUnavailable:
            if found := self.excess(payer, needs, wanted):
                raise self._refusal(payer, found) from None
            self.day_counts.charge(payer.subjects, wanted)
            return
        if found := excess(payer, used, self._limits, needs, wanted):
            if wanted:
                with suppress(MemoryUnavailable):
                    await self.day_counts.give_back(payer.subjects, wanted)
            raise self._refusal(payer, found)

    def check(self, payer: Payer, needs: frozenset[Resource]) -> None:
        """Raise `OverBudget` or `CeilingReached` when a budget is used up, as far as this process knows."""
        if found := self.excess(payer, needs):
            raise self._refusal(payer, found)

    def charge(self, payer: Payer, amounts: Usage) -> None:
        """Charge what something has cost. Never waits."""
        self.day_counts.charge(payer.subjects, amounts)

    def charge_tokens(self, payer: Payer, model: str, tokens_in: int, tokens_out: int) -> None:
        """Charge the tokens of a model, and their price, if it has one. Never waits."""
        cost = self.cost_of(model, tokens_in, tokens_out)
        self.charge(payer, Counter({Resource.MODEL_TOKENS: tokens_in + tokens_out, Resource.MICRO_USD: cost or 0}))

    def cost_of(self, model: str, tokens_in: int, tokens_out: int) -> int | None:
        """Return what these tokens of a model cost, in millionths of a dollar; None: it has no price."""
        price = self.settings.prices.get(model)
        return price.micro_usd(tokens_in, tokens_out) if price else None

    def excess(self, payer: Payer, needs: frozenset[Resource], wanted: Usage = NOTHING) -> Excess | None:
        """Return the budget that is used up, as far as this process knows; None when there is room."""
        if payer.exempt:
            return None
        used = {subject: self.day_counts.known(subject) for subject in payer.subjects}
        return excess(payer, used, self._limits, needs, wanted)

    async def admits_new_user(self, payer: Payer) -> bool:
        """Mark the payer as new, count them for their address, and return whether it may have that many."""
        address = [subject for subject in payer.subjects if subject.scope is Scope.ADDRESS]
        limit = self.settings.new_users_per_day
        if payer.exempt:
            return True
        with suppress(MemoryUnavailable):
            await self.new_users.mark(payer.user)
        if not limit or not address:
            return True
        wanted: Usage = Counter({Resource.NEW_USERS: 1})
        if self.day_counts.known(address[0])[Resource.NEW_USERS] >= limit:
            return self._refuses_new_user(payer)
        try:
            used = await self.day_counts.take(address, wanted)
        except MemoryUnavailable:
            self.day_counts.charge(address, wanted)
            return True
        return used[address[0]][Resource.NEW_USERS] < limit or self._refuses_new_user(payer)

    async def shown_to(self, payer: Payer) -> Json:
        """Return the use and the limits of the day, as `GET /api/me/usage` shows them. Raises `MemoryUnavailable`."""
        used = await self.day_counts.used(payer.subjects)
        own = [subject for subject in payer.subjects if subject != EVERYBODY]
        return {
            "resets_in_s": self._left_s(),
            "limited": not payer.exempt,
            **{subject.scope.value: self._shown(subject, used[subject], payer) for subject in own},
        }

    async def total(self) -> Json:
        """Return everybody's use and the ceiling, and who used most, as the admin page shows them.

        Raises `MemoryUnavailable`.
        """
        used = await self.day_counts.used([EVERYBODY])
        refused = {f"{scope}.{resource}": count for (scope, resource), count in self.refusals.items()}
        shown = {"resets_in_s": self._left_s(), "refused": refused, **self._shown(EVERYBODY, used[EVERYBODY])}
        return shown | {"top": {scope.value: await self._top(scope) for scope in RANKED}}

    def stop(self, payer: Payer, found: Excess) -> None:
        """Count and log that something under way is stopped for a used-up budget."""
        self.refusals[found.scope, found.resource] += 1
        if self._refused is not None:
            self._refused.labels(found.scope.value, found.resource.value).inc()
        budget = f"{found.scope.value}.{found.resource.value}"
        security_event(SecurityEvent.BUDGET_STOPPED, payer, "a budget is used up", budget=budget, limit=found.limit)

    def show_in(self, registry: CollectorRegistry) -> None:
        """Show everybody's use, the ceiling and the refusals in `/metrics`."""
        used = Gauge("voice_budget_used", "What everybody has used today.", ["resource"], registry=registry)
        limits = Gauge(
            "voice_budget_limit", "What everybody may use in a day; 0: no limit.", ["resource"], registry=registry
        )
        for resource, limit in self._limits[Scope.TOTAL].items():
            used.labels(resource.value).set_function(partial(self._used_by_all, resource))
            limits.labels(resource.value).set(limit)
        self._refused = Count(
            "voice_budget_refusals",
            "Requests refused, and work stopped, for a budget.",
            ["scope", "resource"],
            registry=registry,
        )

    async def _top(self, scope: Scope) -> list[Json]:
        used = await self.day_counts.top(scope)
        return [{"name": name, **self._shown(Subject(scope, name), usage)} for name, usage in used.items()]

    def _shown(self, subject: Subject, used: Usage, payer: Payer | None = None) -> Json:
        all_limits = self._limits[subject.scope]
        limits = {resource: limit for resource, limit in all_limits.items() if limit}
        if subject.scope is Scope.USER and payer is not None and payer.most_tokens is not None:
            limits[Resource.MODEL_TOKENS] = min(limits.get(Resource.MODEL_TOKENS, payer.most_tokens), payer.most_tokens)
        return {
            "used": {resource.value: used[resource] for resource in all_limits},
            "limits": {resource.value: limit for resource, limit in limits.items()},
        }

    def _refusal(self, payer: Payer, found: Excess) -> OverBudget | CeilingReached:
        self.stop(payer, found)
        owner, hint = OWNERS[found.scope]
        message = f"{owner} of {WORDS[found.resource]} is used up for today."
        error = CeilingReached if found.scope is Scope.TOTAL else OverBudget
        return error(message, retry_after_s=self._left_s(), hint=hint)

    def _refuses_new_user(self, payer: Payer) -> bool:
        self.stop(payer, Excess(Scope.ADDRESS, Resource.NEW_USERS, self.settings.new_users_per_day))
        return False

    def _used_by_all(self, resource: Resource) -> int:
        return self.day_counts.known(EVERYBODY)[resource]

    def _left_s(self) -> int:
        """Return the seconds until midnight UTC."""
        return math.ceil(DAY_S - self._clock() % DAY_S)
