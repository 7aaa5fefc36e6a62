"""How a reminder that is due reaches its user: told in a call, shown on an open page, or sent to a webhook.

Whichever way, it is one *notice* (see `notifications.notices`), kept before anything else is tried: should all ways be
closed, the user's next call tells it, and the next page shows it. It is delivered when the notice was told; only then
is the reminder gone. So whoever dies, and whenever, another goes on, and nobody is told twice but by a webhook, which
can tell by the delivery's id.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Literal, Protocol

from backend.errors import MemoryUnavailable, PeerError
from backend.notifications.metrics import ReminderFigures
from backend.notifications.notices import Notice
from backend.notifications.reminders import CALL_TRIES, Reminder, Way, begun, delivered, notice_of, tried
from backend.notifications.repository import Book

log = logging.getLogger(__name__)

SHOWN_WITHIN_S = 3.0
"""Seconds an open page has to say that it shows a reminder."""
LOOK_EVERY_S = 0.1
ERRANDS_LIMIT = 1_000
"""Told reminders whose records are being changed at once; more are found told at their next try."""

Outcome = Literal["call", "page", "webhook", "waiting", "nothing", "elsewhere"]
"""call: a live call has it to tell; page, webhook: delivered so; waiting: tried again later; nothing: there was nothing
to do; elsewhere: another process is at it."""
Show = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""User id, event type, data: to that user's pages, everywhere."""


class Tellings(Protocol):
    """What waits to be told: see `notifications.dispatcher.Teller`. Everything may raise `MemoryUnavailable`."""

    async def tell(self, user_id: str, notice: Notice) -> None: ...

    async def waiting(self, user_id: str) -> list[Notice]: ...

    async def told(self, user_id: str, notice_id: str) -> bool: ...

    async def withdraw(self, user_id: str, notice_id: str) -> bool: ...

    async def listening(self, user_id: str) -> bool: ...


class Hook(Protocol):
    """Who else may be told: see `notifications.webhooks.Webhooks`."""

    async def tell(self, event: str, data: Mapping[str, Any], *, delivery: str = "") -> None:
        """Raises a `PeerError`."""
        ...


class Delivery:
    """One process's share in delivering reminders. Close it before what it tells them with."""

    def __init__(
        self,
        book: Book,
        tellings: Tellings,
        *,
        show: Show,
        on_page: Callable[[str], Awaitable[bool]],
        hook: Hook | None,
        figures: ReminderFigures,
        keep_s: float,
        lease_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`on_page` says whether a page of that user is open somewhere. The caller keeps ownership of everything."""
        self._book = book
        self._tellings = tellings
        self._show = show
        self._on_page = on_page
        self._hook = hook
        self._figures = figures
        self._keep_s = keep_s
        self._lease_s = lease_s
        self._clock = clock
        self._errands: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"Delivery({len(self._errands)} errands)"

    async def deliver(self, owner: str, reminder_id: str) -> Outcome:
        """See to one reminder about which something is to be done. Raises `MemoryUnavailable`."""
        async with self._book.taken(owner, reminder_id) as ours:
            return await self._begin(owner, reminder_id) if ours else "elsewhere"

    async def call_off(self, owner: str, reminder_id: str, *, but: str = "") -> None:
        """Have nothing told of it that still waits to be, except the notice `but`."""
        for notice in await self._tellings.waiting(owner):
            if notice.source == reminder_id and notice.kind == "reminder" and notice.id != but:
                await self._tellings.withdraw(owner, notice.id)

    def told(self, owner: str, notice_id: str, way: Way) -> None:
        """A notice was told. Returns at once; one of a reminder is seen to."""
        if notice_id.startswith("reminder-") and len(self._errands) < ERRANDS_LIMIT:
            self._run(self._settle(owner, notice_id, way))

    async def close(self) -> None:
        """What is not finished is found told at its next try."""
        for errand in self._errands:
            errand.cancel()
        if self._errands:
            await asyncio.wait(self._errands)

    # --- one reminder -----------------------------------------------------------------------------------

    async def _begin(self, owner: str, reminder_id: str) -> Outcome:
        now = self._clock()
        before: list[Reminder] = []

        def begin(reminder: Reminder) -> Reminder | None:
            before[:] = [reminder]
            return begun(reminder, now, keep_s=self._keep_s, lease_s=self._lease_s)

        reminder = await self._book.change(owner, reminder_id, begin)
        if reminder is None or not reminder.due:
            await self.call_off(owner, reminder_id)
            if before and before[0].due:
                self._figures.given_up()
            return "nothing"
        if reminder == before[0]:
            return "nothing"  # it is not time yet
        if reminder.due != before[0].due:
            self._figures.came_due(now - reminder.due)
        if reminder.missed:
            await self.call_off(owner, reminder_id, but=reminder.notice_id)
        return await self._reach(reminder)

    async def _reach(self, reminder: Reminder) -> Outcome:
        owner, notice_id = reminder.owner, reminder.notice_id
        if await self._tellings.told(owner, notice_id):
            await self._settle(owner, notice_id, "call")
            return "call"
        await self._tellings.tell(owner, notice_of(reminder))
        current = await self._book.get(owner, reminder.id)
        if current is None or current.notice_id != notice_id:  # called off meanwhile
            await self._tellings.withdraw(owner, notice_id)
            return "nothing"
        on_call = await self._tellings.listening(owner)
        if on_call and reminder.tries < CALL_TRIES:
            await self._try_again(reminder, on_call=True)
            return "call"
        if await self._shown(reminder):
            return "page"
        if await self._sent(reminder):
            return "webhook"
        await self._try_again(reminder, on_call=on_call)
        return "waiting"

    async def _shown(self, reminder: Reminder) -> bool:
        """Whether a page says that its user sees it."""
        if not await self._on_page(reminder.owner):
            return False
        notice = notice_of(reminder)
        data = {"id": notice.id, "kind": notice.kind, "text": notice.text, "source": notice.source, "state": "waiting"}
        await self._show(reminder.owner, "notice", data)
        try:
            async with asyncio.timeout(SHOWN_WITHIN_S):
                while not await self._tellings.told(reminder.owner, notice.id):  # noqa: ASYNC110 - in any process
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            return False
        await self._settle(reminder.owner, notice.id, "page")
        return True

    async def _sent(self, reminder: Reminder) -> bool:
        """Whether the webhook's server has taken it."""
        if self._hook is None:
            return False
        data = {"user": reminder.owner, **reminder.shown()}
        try:
            await self._hook.tell("reminder", data, delivery=reminder.notice_id)
        except MemoryUnavailable:
            raise
        except PeerError as error:
            log.info("a reminder was not taken by the webhook: %s", error)
            self._figures.refused()
            return False
        await self._tellings.withdraw(reminder.owner, reminder.notice_id)
        await self._settle(reminder.owner, reminder.notice_id, "webhook")
        return True

    async def _try_again(self, reminder: Reminder, *, on_call: bool) -> None:
        def again(current: Reminder) -> Reminder:
            same = current.notice_id == reminder.notice_id
            return tried(current, self._clock(), on_call=on_call) if same else current

        await self._book.change(reminder.owner, reminder.id, again)

    async def _settle(self, owner: str, notice_id: str, way: Way) -> None:
        reminder_id = notice_id.removeprefix("reminder-").rpartition("-")[0]
        now = self._clock()
        settled: list[Reminder] = []

        def settle(reminder: Reminder) -> Reminder | None:
            settled[:] = [reminder] if reminder.due and reminder.notice_id == notice_id else []
            return delivered(reminder, notice_id, now)

        await self._book.change(owner, reminder_id, settle)
        if settled:
            self._figures.delivered(way)
            await self._show(owner, "reminder", {"id": reminder_id, "event": "delivered", "way": way})

    def _run(self, errand: Coroutine[Any, Any, None]) -> None:
        async def quietly() -> None:
            with contextlib.suppress(MemoryUnavailable):  # it is found told at its next try
                await errand

        task = asyncio.create_task(quietly(), name="a told reminder")
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
