"""The teller: has something that was not asked for just now told by the Responder, on whatever call its user has.

`tell` keeps the notice (`notifications.notices`) and lets every server process know. Where the user has a live call,
that call's attendance brings it to the turn machine, which tells it when the floor is free, and says when it was heard:
only then is it deleted. Without a call it waits for the next. Of several calls of one user the newest tells.

A process that dies between the last heard word and the deletion has the notice told once more: better twice than never.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal

from backend.conversation.events import NoticeArrived, NoticeWithdrawn
from backend.errors import MemoryUnavailable
from backend.notifications.notices import LEASE_S, Notice, NoticeStore, as_told
from backend.storage.pubsub import PubSub

log = logging.getLogger(__name__)

LOOK_EVERY_S = LEASE_S / 3
"""Seconds between two looks, news or not: the call says again that it is the teller."""
RETRY_S = 1.0
"""Seconds until a deletion that failed is tried again."""
CLOSE_WITHIN_S = 1.5
"""Seconds a server that ends gives to deletions under way."""
ACKS_LIMIT = 1_000
"""Deletions under way at once; beyond it a told notice may be told again."""

HearTold = Callable[[str, str, Literal["call", "page"]], None]
"""User id, notice id, and where it was told."""
Attend = Callable[[str, "TellMachine"], "Attendance"]
TellMachine = Callable[[NoticeArrived | NoticeWithdrawn], None]


class Attendance:
    """One live call's share: what it was given to tell. Close it with the call."""

    def __init__(self, teller: Teller, user_id: str, tell: TellMachine) -> None:
        self.user_id = user_id
        self._teller = teller
        self._tell = tell
        self._call = secrets.token_hex(8)
        self._given: dict[str, Notice] = {}
        self._shown: dict[str, Notice] = {}
        self._told: set[str] = set()
        self._news = asyncio.Event()
        self._over = False
        self._task = asyncio.create_task(self._attend(), name="notices of a call")

    def __repr__(self) -> str:
        return f"Attendance({len(self._given)} given, {len(self._told)} told)"

    def wake(self) -> None:
        """There may be something new."""
        self._news.set()

    def told(self, notice_id: str) -> None:
        """The caller has heard it. Returns at once."""
        self._told.add(notice_id)
        self._given.pop(notice_id, None)
        self._teller.acknowledge(self.user_id, notice_id)

    def shown(self, data: dict[str, Any]) -> dict[str, Any]:
        """The page event's data, which the turn machine knows the id and the state of."""
        notice = self._shown.get(data["id"])
        about = {"kind": notice.kind, "text": notice.text, "source": notice.source} if notice else {}
        return {"id": data["id"], **about, "state": data["state"]}

    def close(self) -> None:
        """The call is over. Returns at once; somebody else may tell what was not told."""
        self._over = True  # a cancellation can get lost inside a Redis client
        self._task.cancel()
        self._teller.leave(self, self._call)

    async def _attend(self) -> None:
        took = False
        while not self._over:
            self._news.clear()
            try:
                if not took:
                    await self._teller.take(self.user_id, self._call)
                    took = True
                self._bring(await self._teller.given(self.user_id, self._call))
            except MemoryUnavailable:
                log.debug("notices are out of reach for a call")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()

    def _bring(self, notices: Iterable[Notice]) -> None:
        """Tell the machine what is new, and what is not to be told any more."""
        wanted = {notice.id: notice for notice in notices if notice.id not in self._told}
        for gone in [known for known in self._given if known not in wanted]:
            del self._given[gone]
            self._tell(NoticeWithdrawn(gone))
        for notice in wanted.values():
            if notice.id not in self._given:
                self._given[notice.id] = self._shown[notice.id] = notice
                self._tell(NoticeArrived(notice.id, as_told(notice, time.time())))


class Teller:
    """This process's teller. `begin` it after its `PubSub` has been given its listeners."""

    def __init__(self, store: NoticeStore, pubsub: PubSub) -> None:
        self._store = store
        self._pubsub = pubsub
        self._attending: dict[str, list[Attendance]] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._deleting: set[tuple[str, str]] = set()
        self._hearers: list[HearTold] = []
        pubsub.on_news(self._wake)

    def __repr__(self) -> str:
        return f"Teller({sum(map(len, self._attending.values()))} calls, {len(self._errands)} errands)"

    async def tell(self, user_id: str, notice: Notice) -> None:
        """See `notifications.notices.Tells`. The same id again is told once all the same."""
        if await self._store.put(user_id, notice):
            await self._pubsub.publish_news(user_id)

    def on_told(self, hear: HearTold) -> None:
        """Have `hear` called, which must not wait, after a notice was told here and deleted."""
        self._hearers.append(hear)

    async def told(self, user_id: str, notice_id: str) -> bool:
        """Whether it was told, wherever, or withdrawn. Raises `MemoryUnavailable`."""
        return await self._store.told(user_id, notice_id)

    async def seen(self, user_id: str, notice_id: str) -> bool:
        """A page shows it to its user, who need not be told any more. Whether it still waited."""
        was_there = await self.withdraw(user_id, notice_id)
        if was_there:
            self._say_told(user_id, notice_id, "page")
        return was_there

    async def waiting(self, user_id: str) -> list[Notice]:
        """What has not been told yet, oldest first."""
        waiting = await self._store.waiting(user_id)
        return [notice for notice in waiting if (user_id, notice.id) not in self._deleting]

    async def listening(self, user_id: str) -> bool:
        """Whether that user is on a call now, in whichever process. Raises `MemoryUnavailable`."""
        return bool(self._attending.get(user_id)) or await self._store.has_teller(user_id)

    async def withdraw(self, user_id: str, notice_id: str) -> bool:
        """It need not be told any more: it was asked for meanwhile, or called off. Whether it still waited."""
        was_there = await self._store.remove(user_id, notice_id)
        await self._pubsub.publish_news(user_id)
        return was_there

    def attend(self, user_id: str, tell: TellMachine) -> Attendance:
        """A call of that user is live: `tell` its machine what there is, now and later."""
        attendance = Attendance(self, user_id, tell)
        self._attending.setdefault(user_id, []).append(attendance)
        return attendance

    async def close(self) -> None:
        """Finish what is being deleted, within a moment."""
        if self._errands:
            await asyncio.wait(self._errands, timeout=CLOSE_WITHIN_S)
        for task in self._errands:
            task.cancel()
        if self._errands:
            await asyncio.wait(self._errands)

    # --- what an attendance needs ---------------------------------------------------------------------

    async def take(self, user_id: str, call: str) -> None:
        """That call is the teller now; an older one lets go."""
        await self._store.take_floor(user_id, call)
        await self._pubsub.publish_news(user_id)

    async def given(self, user_id: str, call: str) -> list[Notice]:
        """What that call has to tell: nothing while another one is the teller."""
        if not await self._store.holds_floor(user_id, call):
            return []
        return await self.waiting(user_id)

    def acknowledge(self, user_id: str, notice_id: str) -> None:
        """Delete what was told, however long Redis is away."""
        if len(self._errands) >= ACKS_LIMIT:
            log.warning("too many told notices wait to be deleted: one may be told again")
            return
        self._deleting.add((user_id, notice_id))
        self._run(self._delete(user_id, notice_id))

    def leave(self, attendance: Attendance, call: str) -> None:
        """That call is over."""
        others = [other for other in self._attending.get(attendance.user_id, []) if other is not attendance]
        self._attending[attendance.user_id] = others
        if not others:
            del self._attending[attendance.user_id]
        self._run(self._let_go(attendance.user_id, call))

    async def _delete(self, user_id: str, notice_id: str) -> None:
        while True:
            try:
                await self._store.remove(user_id, notice_id)
            except MemoryUnavailable:
                await asyncio.sleep(RETRY_S)
            else:
                self._deleting.discard((user_id, notice_id))
                self._say_told(user_id, notice_id, "call")
                return

    def _say_told(self, user_id: str, notice_id: str, way: Literal["call", "page"]) -> None:
        for hear in self._hearers:
            hear(user_id, notice_id, way)

    async def _let_go(self, user_id: str, call: str) -> None:
        with contextlib.suppress(MemoryUnavailable):
            await self._store.leave_floor(user_id, call)
            await self._pubsub.publish_news(user_id)

    def _run(self, errand: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(errand, name="teller")
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    def _wake(self, user_id: str | None) -> None:
        attending = self._attending.values() if user_id is None else [self._attending.get(user_id, [])]
        for attendances in attending:
            for attendance in attendances:
                attendance.wake()
