"""Tells the page of tasks: what any process does to them becomes `task` events of their owner's sessions here.

Changes come over Redis pub/sub, ids and states only; what an owner is shown is read from the record, and only when
that owner has a session here. What is missed while Redis is away is not told again: the page asks `GET /api/tasks`
when it connects.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.background import keys
from backend.background.figures import TaskFigures
from backend.background.records import Records
from backend.errors import MemoryUnavailable

log = logging.getLogger(__name__)

REST_S = 1.0
"""Seconds between two tries while Redis does not answer."""
LOOK_S = 1.0
"""Seconds after which the figures are read again, though nothing was heard."""

Publish = Callable[[str, str, dict[str, Any]], None]
"""Owner, type and data of an event, to all of that owner's live sessions here."""


class Crier:
    """`run` listens until it is cancelled. `here` says whether an owner has a live session in this process."""

    def __init__(
        self,
        redis: Redis,
        records: Records,
        figures: TaskFigures,
        *,
        here: Callable[[str], bool],
        publish: Publish,
    ) -> None:
        """`redis` is a client for reads that wait."""
        self._redis = redis
        self._records = records
        self._figures = figures
        self._here = here
        self._publish = publish
        self.listening = asyncio.Event()
        """Set while changes are heard."""

    def __repr__(self) -> str:
        return f"Crier({'listening' if self.listening.is_set() else 'out of touch'})"

    async def run(self) -> None:
        """Listen, and go on listening when Redis comes back."""
        while True:
            try:
                await self._listen()
            except (RedisError, OSError, MemoryUnavailable) as error:
                if self.listening.is_set():
                    log.warning("the page is not told of tasks until Redis answers again: %s", type(error).__name__)
                self.listening.clear()
            await asyncio.sleep(REST_S)

    async def _listen(self) -> None:
        async with self._redis.pubsub() as ear:
            await ear.subscribe(keys.EVENTS)
            self.listening.set()
            while True:
                message = await ear.get_message(ignore_subscribe_messages=True, timeout=LOOK_S)
                if message is not None:
                    with contextlib.suppress(ValueError, KeyError):  # somebody else's
                        await self._cry(json.loads(message["data"]))
                await self._figures.look()

    async def _cry(self, change: dict[str, Any]) -> None:
        if not self._here(change["owner"]):
            return
        task = await self._records.find(change["task_id"])
        if task is None or task.owner != change["owner"]:
            return
        data: dict[str, Any] = {"task_id": task.id, "event": change["event"], "kind": task.kind}
        data |= {"instruction": task.instruction}
        if change["detail"]:
            data["detail"] = change["detail"]
        if change["event"] == "done":
            data |= {"result": task.result, "source": task.source, "citations": list(task.citations)}
        self._publish(task.owner, "task", data)
