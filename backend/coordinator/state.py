"""What the coordinator keeps of a user, in Redis: history, the digest it is working on, feedback, and how it stands.

    user:{id}:thoughts            hash: id → what happened or was made of it; at most THOUGHTS_LIMIT, for KEEP_S
    user:{id}:digest              hash: `plan` → the digest decided on, `done:{id}:{n}` → its n-th action is done
    user:{id}:feedback            hash: id → what they think of us; at most FEEDBACK_LIMIT
    user:{id}:digests             hash: last_at, count, failed, invalid, decision

A plan is written before anything of it is carried out, and the first one written stands: who comes after a crash goes
on with that one instead of deciding anew. All writes go by ids, so that doing them twice is doing them once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from redis.asyncio import Redis

from backend.coordinator.actions import Action
from backend.coordinator.digest import Thought
from backend.errors import MemoryUnavailable
from backend.storage.guard import Guard

THOUGHTS_LIMIT = 100
FEEDBACK_LIMIT = 100
KEEP_S = 30 * 86_400
"""How long all of it is kept after the last digest."""


class Plan(msgspec.Struct, frozen=True):
    """A digest decided on. `at` is Unix time in seconds."""

    id: str
    at: float
    entries: tuple[str, ...]
    """The entries of the channel it is about."""
    sources: tuple[str, ...] = ()
    """The tasks whose results are among them."""
    decision: str = ""
    """What is to be told; empty: nothing."""
    actions: tuple[Action, ...] = ()
    invalid: tuple[str, ...] = ()
    """Actions that were refused, and why."""
    failure: str = ""
    """Why nobody has thought about it, if so."""


class Notebook:
    """All users' state. Every method may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._guard = Guard()

    def __repr__(self) -> str:
        return f"Notebook({self._guard})"

    async def remember(self, user_id: str, thoughts: Sequence[Thought]) -> None:
        """Add to the history; the oldest fall off."""
        key = _thoughts(user_id)
        pipe = self._redis.pipeline(transaction=True)
        for thought in thoughts:
            pipe.hsetnx(key, thought.id, msgspec.json.encode(thought))
        pipe.expire(key, KEEP_S)
        await self._guard(pipe.execute)
        kept = await self.history(user_id)
        if surplus := [thought.id for thought in kept[: max(0, len(kept) - THOUGHTS_LIMIT)]]:
            await self._guard(lambda: self._redis.hdel(key, *surplus))

    async def history(self, user_id: str) -> list[Thought]:
        """All of it, oldest first."""
        raw = await self._guard(lambda: self._redis.hvals(_thoughts(user_id)))
        return sorted((_decode(value, Thought) for value in raw), key=lambda thought: thought.at)

    async def plan(self, user_id: str) -> Plan | None:
        """The digest that was decided on and is not finished."""
        raw = await self._guard(lambda: self._redis.hget(_digest(user_id), "plan"))
        return None if raw is None else _decode(raw, Plan)

    async def keep(self, user_id: str, plan: Plan) -> Plan:
        """Decide on it, unless another is decided on already: then that one."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.hsetnx(_digest(user_id), "plan", msgspec.json.encode(plan))
        pipe.expire(_digest(user_id), KEEP_S)
        pipe.hget(_digest(user_id), "plan")
        kept: Plan = _decode((await self._guard(pipe.execute))[-1], Plan)
        return kept

    async def is_done(self, user_id: str, plan: Plan, number: int) -> bool:
        """Whether the plan's action of that number has taken effect."""
        return bool(await self._guard(lambda: self._redis.hexists(_digest(user_id), _done(plan, number))))

    async def mark_done(self, user_id: str, plan: Plan, number: int) -> None:
        """It has."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.hset(_digest(user_id), _done(plan, number), "1")
        pipe.expire(_digest(user_id), KEEP_S)
        await self._guard(pipe.execute)

    async def finish(self, user_id: str, plan: Plan) -> None:
        """All of it has taken effect."""
        key = _digests(user_id)
        pipe = self._redis.pipeline(transaction=True)
        pipe.delete(_digest(user_id))
        pipe.hset(key, mapping={"last_at": plan.at, "id": plan.id, "decision": plan.decision, "failure": plan.failure})
        pipe.hincrby(key, "count", 1)
        pipe.hincrby(key, "failed", 1 if plan.failure else 0)
        pipe.hincrby(key, "invalid", len(plan.invalid))
        pipe.expire(key, KEEP_S)
        await self._guard(pipe.execute)

    async def feedback(self, user_id: str, id_: str, note: Mapping[str, Any]) -> None:
        """Keep what they think of us."""
        key = _feedback(user_id)
        pipe = self._redis.pipeline(transaction=True)
        pipe.hsetnx(key, id_, msgspec.json.encode(note))
        pipe.expire(key, KEEP_S)
        pipe.hkeys(key)
        kept = sorted((await self._guard(pipe.execute))[-1])
        if surplus := kept[: max(0, len(kept) - FEEDBACK_LIMIT)]:
            await self._guard(lambda: self._redis.hdel(key, *surplus))

    async def state(self, user_id: str) -> dict[str, Any]:
        """`{last_at, id, decision, failure, count, failed, invalid}` of the digests so far; zeros before the first."""
        raw = await self._guard(lambda: self._redis.hgetall(_digests(user_id)))
        told = {key.decode(): value.decode() for key, value in raw.items()}
        counts = {name: int(told.get(name, 0)) for name in ("count", "failed", "invalid")}
        words = {name: told.get(name, "") for name in ("id", "decision", "failure")}
        return {"last_at": float(told.get("last_at", 0.0)), **words, **counts}

    async def export(self, user_id: str) -> dict[str, Any]:
        """For the user to take away."""
        feedback = await self._guard(lambda: self._redis.hvals(_feedback(user_id)))
        return {
            "history": [msgspec.to_builtins(thought) for thought in await self.history(user_id)],
            "feedback": [msgspec.json.decode(value) for value in feedback],
            "digests": await self.state(user_id),
        }

    async def erase(self, user_id: str) -> None:
        """Leaves nothing of that user."""
        names = (_thoughts(user_id), _digest(user_id), _feedback(user_id), _digests(user_id))
        await self._guard(lambda: self._redis.delete(*names))


def _decode(raw: bytes, kind: Any) -> Any:
    try:
        return cast(Any, msgspec.json.decode(raw, type=kind))
    except msgspec.DecodeError as error:
        raise MemoryUnavailable("What the coordinator kept cannot be read.") from error


def _done(plan: Plan, number: int) -> str:
    return f"done:{plan.id}:{number}"


def _thoughts(user_id: str) -> str:
    return f"user:{user_id}:thoughts"


def _digest(user_id: str) -> str:
    return f"user:{user_id}:digest"


def _feedback(user_id: str) -> str:
    return f"user:{user_id}:feedback"


def _digests(user_id: str) -> str:
    return f"user:{user_id}:digests"
