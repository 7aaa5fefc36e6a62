"""The notification dispatcher: it has the Responder speak unasked, on a user's live call.

`notify` stores a notice (`notifications.notices`) and wakes every server process. If the user has a live call, the
call's subscription passes the notice to the turn machine. The machine has it spoken when the floor is free, and reports
its delivery; only then is it deleted. Without a call it waits for the next one. Of several calls of one user the newest
is active. A process that dies between the last word and the deletion has the notice spoken once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Literal

from msgspec import structs
from tenacity import AsyncRetrying, retry_if_exception_type, wait_fixed

from backend.errors import MemoryUnavailable
from backend.notifications.notices import LEASE_S, Notice, NoticeRepository, spoken_text
from backend.page_events import NoticeChanged, NoticeContent
from backend.runtime.faults import call_observer
from backend.runtime.supervisor import cancel_all, event_or_timeout, start_among, supervised
from backend.storage.client import Lease
from backend.storage.pubsub import PubSub, UserMessage
from backend.turns.events import NoticeArrived, NoticeWithdrawn

log = logging.getLogger(__name__)

REFRESH_S = LEASE_S / 3
"""Seconds after which a call looks for notices without being woken, and renews its lease."""
RETRY_S = 1.0
"""Seconds until a deletion that failed is tried again."""
CLOSE_WITHIN_S = 1.5
"""Seconds a server that ends gives to deletions under way."""
DELETIONS_LIMIT = 1_000
"""Deletions under way at the same time; beyond it a delivered notice may be spoken again."""

OnDelivered = Callable[[str, str, Literal["call", "page"]], None]
"""User id, notice id, and where it was delivered."""
OnNoticeEvent = Callable[[NoticeArrived | NoticeWithdrawn], None]
Subscribe = Callable[[str, OnNoticeEvent], "Subscription"]


class Subscription:
    """One live call's subscription to its user's notices. Close it with the call."""

    def __init__(self, dispatcher: NotificationDispatcher, user_id: str, lease: Lease, on_event: OnNoticeEvent) -> None:
        self.user_id = user_id
        self.lease = lease
        self._dispatcher = dispatcher
        self._on_event = on_event
        self._passed_on: dict[str, Notice] = {}
        self._known: dict[str, Notice] = {}
        self._delivered: set[str] = set()
        self._changed = asyncio.Event()
        self._closed = False
        self._task = supervised("notices of a call", self._run)

    def wake(self) -> None:
        """Look for new notices now."""
        self._changed.set()

    def mark_delivered(self, notice_id: str) -> None:
        """Have a notice deleted that was spoken to the caller. Returns immediately."""
        self._delivered.add(notice_id)
        self._passed_on.pop(notice_id, None)
        self._dispatcher.acknowledge(self.user_id, notice_id)

    def shown(self, event: NoticeChanged) -> NoticeChanged:
        """Return `event` with the words of its notice; the turn machine knows only its id."""
        notice = self._known.get(event.notice_id)
        return (
            structs.replace(event, content=NoticeContent(notice.kind, notice.text, notice.source)) if notice else event
        )

    def close(self) -> None:
        """End the subscription with its call. Returns immediately; what was not delivered waits for another call."""
        self._closed = True  # a cancellation can get lost inside a Redis client
        self._task.cancel()
        self._dispatcher.unsubscribe(self)

    async def _run(self) -> None:
        renew_at = 0.0
        while not self._closed:
            self._changed.clear()
            try:
                if time.monotonic() >= renew_at:
                    await (self.lease.renew() if renew_at else self._dispatcher.activate(self))
                    renew_at = time.monotonic() + REFRESH_S
                self._pass_on(await self._dispatcher.pending_for(self))
            except MemoryUnavailable:
                log.debug("notices are out of reach for a call")
            await event_or_timeout(self._changed, REFRESH_S)

    def _pass_on(self, notices: Iterable[Notice]) -> None:
        wanted = {notice.id: notice for notice in notices if notice.id not in self._delivered}
        for gone in [known for known in self._passed_on if known not in wanted]:
            del self._passed_on[gone]
            self._on_event(NoticeWithdrawn(gone))
        for notice in wanted.values():
            if notice.id not in self._passed_on:
                self._passed_on[notice.id] = self._known[notice.id] = notice
                self._on_event(NoticeArrived(notice.id, spoken_text(notice, time.time()), notice.interruptible))


class NotificationDispatcher:
    """This process's dispatcher. Construct it before its pub/sub connection begins. Close it after all calls."""

    def __init__(
        self, repository: NoticeRepository, pubsub: PubSub, on_delivered: OnDelivered = lambda *_: None
    ) -> None:
        """`on_delivered`, which must not wait, is called after each notice that was delivered here and deleted."""
        self._repository = repository
        self._pubsub = pubsub
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._deleting: set[tuple[str, str]] = set()
        self._on_delivered = on_delivered
        pubsub.on_user_message(self._wake)

    async def notify(self, user_id: str, notice: Notice) -> None:
        """Have a notice spoken on the user's live call, else on the next one; a known id changes nothing.

        Raises `MemoryUnavailable`: try again.
        """
        if await self._repository.add(user_id, notice):
            await self._pubsub.publish_news(user_id)

    async def is_delivered(self, user_id: str, notice_id: str) -> bool:
        """Return whether a notice was delivered, in whichever process, or withdrawn. Raises `MemoryUnavailable`."""
        return await self._repository.is_delivered(user_id, notice_id)

    async def mark_seen(self, user_id: str, notice_id: str) -> bool:
        """Withdraw a notice that a page shows to its user. Return whether it still waited."""
        was_there = await self.withdraw(user_id, notice_id)
        if was_there:
            call_observer("delivered notices", self._on_delivered, user_id, notice_id, "page")
        return was_there

    async def waiting(self, user_id: str) -> list[Notice]:
        """Return the notices that are not delivered yet, oldest first. Raises `MemoryUnavailable`."""
        waiting = await self._repository.waiting(user_id)
        return [notice for notice in waiting if (user_id, notice.id) not in self._deleting]

    async def is_on_call(self, user_id: str) -> bool:
        """Return whether that user is on a call now, in whichever process. Raises `MemoryUnavailable`."""
        return bool(self._subscriptions.get(user_id)) or await self._repository.has_active_call(user_id)

    async def withdraw(self, user_id: str, notice_id: str) -> bool:
        """Delete a notice that need no longer be spoken. Return whether it still waited."""
        was_there = await self._repository.remove(user_id, notice_id)
        await self._pubsub.publish_news(user_id)
        return was_there

    def subscribe(self, user_id: str, on_event: OnNoticeEvent) -> Subscription:
        """Send present and later notices to the turn machine of that user's new call, through `on_event`."""
        subscription = Subscription(self, user_id, self._repository.call_lease(user_id), on_event)
        self._subscriptions.setdefault(user_id, []).append(subscription)
        return subscription

    async def close(self) -> None:
        """Finish the deletions under way, within a moment."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_WITHIN_S)
        await cancel_all(self._tasks)

    async def activate(self, subscription: Subscription) -> None:
        """Make a subscription's call the active one: the newest is where the user is, and older ones stop speaking."""
        await subscription.lease.take_over()
        await self._pubsub.publish_news(subscription.user_id)

    async def pending_for(self, subscription: Subscription) -> list[Notice]:
        """Return the notices that a subscription's call has to speak; none while another call is active."""
        waiting = await self._repository.waiting_for(subscription.user_id, subscription.lease)
        return [notice for notice in waiting if (subscription.user_id, notice.id) not in self._deleting]

    def acknowledge(self, user_id: str, notice_id: str) -> None:
        """Delete a notice that was delivered, however long Redis is away."""
        if len(self._tasks) >= DELETIONS_LIMIT:
            log.warning("too many delivered notices wait to be deleted: one may be spoken again")
            return
        self._deleting.add((user_id, notice_id))
        start_among(self._tasks, "notification dispatcher", self._delete(user_id, notice_id))

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget the subscription of a call that is over."""
        user_id = subscription.user_id
        others = [other for other in self._subscriptions.get(user_id, []) if other is not subscription]
        self._subscriptions[user_id] = others
        if not others:
            del self._subscriptions[user_id]
        start_among(self._tasks, "notification dispatcher", self._deactivate(user_id, subscription.lease))

    async def _delete(self, user_id: str, notice_id: str) -> None:
        retrying = AsyncRetrying(wait=wait_fixed(RETRY_S), retry=retry_if_exception_type(MemoryUnavailable))
        await retrying(self._repository.remove, user_id, notice_id)
        self._deleting.discard((user_id, notice_id))
        call_observer("delivered notices", self._on_delivered, user_id, notice_id, "call")

    async def _deactivate(self, user_id: str, lease: Lease) -> None:
        with contextlib.suppress(MemoryUnavailable):
            await lease.release()
            await self._pubsub.publish_news(user_id)

    def _wake(self, message: UserMessage | None) -> None:
        if message and message.type:
            return  # it is for pages
        users = (message.user,) if message else self._subscriptions
        for subscription in chain.from_iterable(self._subscriptions.get(user, ()) for user in users):
            subscription.wake()
