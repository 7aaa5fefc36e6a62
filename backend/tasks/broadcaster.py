"""Tells the page of tasks: what any process does to them becomes `task` events of their owner's sessions here.

Changes come over Redis pub/sub, ids and states only; what an owner is shown is read from the record, and only when
that owner has a session here. What is missed while Redis is away is not told again: the page asks `GET /api/tasks`
when it connects.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from backend.errors import MemoryUnavailable
from backend.tasks.metrics import FRESH_S, TaskFigures
from backend.tasks.repository import Records

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Seconds after which the figures are read again, though nothing was heard: workers come and go without a word."""
WAITING_LIMIT = 1_000
"""Changes that may wait to be told; of more, the oldest are not."""

Publish = Callable[[str, str, dict[str, Any]], None]
"""Owner, type and data of an event, to all of that owner's live sessions here."""


class Change(msgspec.Struct, frozen=True):
    """What happened to a task, as `Records` tells it."""

    task_id: str
    owner: str
    event: str
    detail: str


class Crier:
    """`run` tells what `hear` is given until it is cancelled. `here`: whether an owner has a live session here."""

    def __init__(
        self, records: Records, figures: TaskFigures, *, here: Callable[[str], bool], publish: Publish
    ) -> None:
        self._records = records
        self._figures = figures
        self._here = here
        self._publish = publish
        self._waiting: deque[Change] = deque(maxlen=WAITING_LIMIT)
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Crier({len(self._waiting)} changes to tell)"

    def hear(self, raw: bytes | None) -> None:
        """A change. See `storage.pubsub.Hear`."""
        self._news.set()  # it changes the figures, whosever it is
        if raw is None:
            return
        with contextlib.suppress(msgspec.DecodeError):  # somebody else's
            change = msgspec.json.decode(raw, type=Change)
            if self._here(change.owner):
                self._waiting.append(change)

    async def run(self) -> None:
        """Until cancelled."""
        look_in_s = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(look_in_s):
                    await self._news.wait()
            self._news.clear()
            try:
                while self._waiting:
                    await self._cry(self._waiting.popleft())
            except MemoryUnavailable as error:
                log.warning("the page is not told of a task: %s", error)
            look_in_s = LOOK_S if await self._figures.look() else FRESH_S

    async def _cry(self, change: Change) -> None:
        task = await self._records.find(change.task_id)
        if task is None or task.owner != change.owner:
            return
        data: dict[str, Any] = {"task_id": task.id, "event": change.event, "kind": task.kind}
        data |= {"instruction": task.instruction}
        if change.detail:
            data["detail"] = change.detail
        if change.event == "done":
            data |= {"result": task.result, "source": task.source, "citations": list(task.citations)}
        self._publish(task.owner, "task", data)
