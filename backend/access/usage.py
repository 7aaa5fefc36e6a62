"""Usage is counted by the day and by the subject, until a budget is used up. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec

from backend.settings.budgets import AddressBudget, BudgetSettings, KeyBudget, TotalBudget, UserBudget


class Resource(StrEnum):
    """The kinds of usage, each in the unit that its name says."""

    MODEL_TOKENS = "model_tokens"
    VOICE_SECONDS = "voice_seconds"
    TASKS = "tasks"
    KEPT_BYTES = "kept_bytes"
    MICRO_USD = "micro_usd"
    """Millionths of a US dollar."""
    NEW_USERS = "new_users"


class Scope(StrEnum):
    """The subject it is counted for."""

    USER = "user"
    ADDRESS = "address"
    KEY = "key"
    TOTAL = "total"
    """Everybody together."""
    MACHINE = "machine"


class Subject(NamedTuple):
    """A user, an address or a key that use is counted for.

    User ids and addresses are hashed: the counts outlive an erasure until the next day.
    """

    scope: Scope
    name: str

    @property
    def key(self) -> str:
        """The subject as a part of a Redis key."""
        return f"{self.scope}:{self.name}" if self.name else self.scope.value


EVERYBODY = Subject(Scope.TOTAL, "")
Usage: TypeAlias = Counter[Resource]
Limits: TypeAlias = Mapping[Scope, Mapping[Resource, int]]
"""Of each scope, the most that may be used in a day; what is missing, or 0, has no limit."""

CALL = frozenset({Resource.MODEL_TOKENS, Resource.VOICE_SECONDS, Resource.MICRO_USD})
"""What a voice call uses."""
TURN = frozenset({Resource.MODEL_TOKENS, Resource.KEPT_BYTES, Resource.MICRO_USD})
"""What a request to text models uses."""
TASK = TURN | {Resource.TASKS}
WRITE = frozenset({Resource.KEPT_BYTES})
"""What a request uses that is only stored."""


class Payer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of the budgets that are charged."""

    user: str
    address: str = ""
    credential: str = ""
    """As `Principal` has it, for the security log."""
    key: str = ""
    """The id of the API key that signed their token."""
    proven: bool = False
    """False: they are new, and charged to their address, too."""
    exempt: bool = False
    """True: counted, but never refused."""
    most_tokens: int | None = None
    """The model tokens that their token lets them use."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Everyone who is charged."""
        charged = [Subject(Scope.USER, _hashed(self.user)), EVERYBODY]
        if self.address and not self.proven:
            charged.insert(1, self.at_address)
        if self.key:
            charged.insert(1, Subject(Scope.KEY, self.key))
        return tuple(charged)

    @property
    def at_address(self) -> Subject:
        """The address alone."""
        return Subject(Scope.ADDRESS, _hashed(self.address))

    @property
    def with_address(self) -> tuple[Subject, ...]:
        """The user and the address, by which permits are limited."""
        user = Subject(Scope.USER, _hashed(self.user))
        return (user, self.at_address) if self.address and not self.key else (user,)


class Excess(NamedTuple):
    """The budget that is used up."""

    scope: Scope
    resource: Resource
    limit: int


def limits_of(settings: BudgetSettings) -> Limits:
    """Return the limits that the settings set, in the units of `Resource`."""
    scopes: dict[Scope, UserBudget | AddressBudget | KeyBudget | TotalBudget] = {
        Scope.USER: settings.user,
        Scope.ADDRESS: settings.address,
        Scope.KEY: settings.key,
        Scope.TOTAL: settings.total,
    }
    limits = {
        scope: {
            Resource.MODEL_TOKENS: budget.model_tokens,
            Resource.VOICE_SECONDS: round(budget.voice_minutes * 60),
            Resource.TASKS: budget.tasks,
            Resource.KEPT_BYTES: budget.kept_kilobytes * 1000,
            Resource.MICRO_USD: round(budget.usd * 1_000_000),
        }
        for scope, budget in scopes.items()
    }
    limits[Scope.ADDRESS][Resource.NEW_USERS] = settings.new_users_per_day
    return limits


def excess(
    payer: Payer, used: Mapping[Subject, Usage], limits: Limits, needs: frozenset[Resource], wanted: Usage
) -> Excess | None:
    """Return the first budget that has no room for `wanted`, and at least one unit, of what is needed."""
    for subject in payer.subjects:
        for resource in sorted(needs):
            limit = limits.get(subject.scope, {}).get(resource, 0) or None
            if subject.scope is Scope.USER and resource is Resource.MODEL_TOKENS and payer.most_tokens is not None:
                limit = min(limit or payer.most_tokens, payer.most_tokens)
            if limit is not None and used[subject][resource] + max(1, wanted[resource]) > limit:
                return Excess(subject.scope, resource, limit)
    return None


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:20]
