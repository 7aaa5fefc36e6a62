"""The event log of a session: numbered events for the page, bounded in number and bytes, for any number of readers.

Publishing never waits and never fails. Each reader keeps only the number of the last event it has seen, so a
slow reader costs no more than the events it was given last; one that falls out of the log learns how many events it
missed.

An event's name on the page is the tag of its type, and its fields are its data, as `docs/api.md` lists them; `_data`
has what differs from that. Messages of other processes arrive as JSON (a `PageMessage`) and are passed on as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import NamedTuple

import msgspec
from msgspec import Struct, to_builtins

from backend import page_events as page
from backend.runtime.json_objects import Json
from backend.runtime.timer import Alarm

LOG_LIMIT = 2_000
"""Events kept of one session; an hour's call makes a few thousand, and a reader is seldom seconds behind."""
LOG_BYTES = 512 * 1024
"""Bytes of JSON kept of one session; as Python objects they take about twice as many."""
AT_ONCE = 100
"""Events a reader gets together."""
BYTES_AT_ONCE = 64 * 1024
"""Bytes of JSON a reader gets together, unless a single event is larger."""


ShowUser = Callable[[str, page.PageEvent], Awaitable[None]]
"""Shows an event on every open page of the user with that id, in every process."""


class PageMessage(NamedTuple):
    """An event as the page receives it: the name of a server-sent event, and its JSON data."""

    type: str
    data: Json


class LoggedEvent(Struct, frozen=True):
    """One event of a session as the page receives it: `id` counts from 1, `at` is Unix time in seconds."""

    id: int
    type: str
    at: float
    data: Json


class _SizedEvent(NamedTuple):
    """An event of the log, and its size in bytes of JSON."""

    event: LoggedEvent
    size: int


class EventLog:
    """The events of one session."""

    def __init__(self, limit: int = LOG_LIMIT) -> None:
        self._limit = limit
        self._events: deque[_SizedEvent] = deque()
        self._bytes = 0
        self._last_id = 0
        self._closed = False
        self._readers: set[_Reader] = set()

    def publish(self, event: page.PageEvent) -> None:
        """Add `event` in its JSON form and wake the readers. After `close` it is dropped."""
        if not self._closed:
            self.append(page_message(event))

    def append(self, message: PageMessage) -> None:
        """Add what is in JSON form already, e.g. from another process. After `close` it is dropped."""
        if self._closed:
            return
        self._last_id += 1
        event = LoggedEvent(self._last_id, message.type, time.time(), message.data)
        self._keep(_SizedEvent(event, len(msgspec.json.encode(event.data))))
        self._wake()

    def _keep(self, kept: _SizedEvent) -> None:
        """Keep an event, and as many of those before it as the bounds allow; one that is too large is missed, too."""
        self._events.append(kept)
        self._bytes += kept.size
        while len(self._events) > self._limit or self._bytes > LOG_BYTES:
            self._bytes -= self._events.popleft().size

    def close(self) -> None:
        """Take no more events; readers end once they have read what there is."""
        self._closed = True
        self._wake()

    async def follow(self, after: int = 0, quiet_s: float | None = None) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield events numbered above `after`, then new ones as they come, in batches of at most `AT_ONCE`.

        Yields an empty list whenever none came for `quiet_s` seconds. Ends when the log is closed. A number from
        the future (another life of this session) reads from the start.
        """
        seen = after if after <= self._last_id else 0
        reader = _Reader(quiet_s)
        self._readers.add(reader)
        try:
            while True:
                if events := self._after(seen):
                    seen = events[-1].id
                    yield events
                elif self._closed:
                    return
                elif not await reader.wait():
                    yield ()
        finally:
            self._readers.discard(reader)
            reader.alarm.stop()

    async def read(self, after: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """Yield the events of `follow` one by one."""
        async with aclosing(self.follow(after)) as batches:
            async for events in batches:
                for event in events:
                    yield event

    def _after(self, seen: int) -> list[LoggedEvent]:
        """Return the next events, and gaps before them. Most readers are one event behind, so it looks from the end."""
        newer = list(takewhile(lambda kept: kept.event.id > seen, reversed(self._events)))
        events: list[LoggedEvent] = []
        size = 0
        for event, bytes_of_it in newer[: -AT_ONCE - 1 : -1]:
            size += bytes_of_it
            if events and size > BYTES_AT_ONCE:
                break
            if event.id > seen + 1:
                gap = page_message(page.EventsMissed(event.id - 1 - seen))
                events.append(LoggedEvent(event.id - 1, gap.type, event.at, gap.data))
            seen = event.id
            events.append(event)
        return events

    def _wake(self) -> None:
        for reader in self._readers:
            reader.wake()


class _Reader:
    """A reader that waits for events with one timer for all its waits: events are many, and quiet spells few."""

    def __init__(self, quiet_s: float | None) -> None:
        self._quiet_s = quiet_s
        self._quiet_at = 0.0
        self.alarm = Alarm(self._on_timer)
        self._waiting: asyncio.Future[bool] | None = None

    async def wait(self) -> bool:
        """Return True when there are events, False after `quiet_s` seconds without."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        if self._quiet_s is not None:
            self._quiet_at = loop.time() + self._quiet_s
            self.alarm.set(self._quiet_at)
        return await self._waiting

    def wake(self) -> None:
        self._finish_wait(True)

    def _on_timer(self) -> None:
        if asyncio.get_running_loop().time() < self._quiet_at:
            self.alarm.set(self._quiet_at)
        else:
            self._finish_wait(False)

    def _finish_wait(self, found: bool) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(found)


def name_of(kind: type[page.PageEvent]) -> str:
    """Return the name under which the page receives events of that type."""
    return str(kind.__struct_config__.tag)


def page_message(event: page.PageEvent) -> PageMessage:
    """Return the name and the JSON data under which the page receives `event`."""
    fields: Json = to_builtins(event)
    name: str = fields.pop("type")
    return PageMessage(name, _data(event, fields))


def shown_by(show: Callable[[str, str, Json], Awaitable[None]]) -> ShowUser:
    """Return a function that sends a typed event through `show`, which takes a user id, a name and JSON data."""

    async def show_event(user_id: str, event: page.PageEvent) -> None:
        await show(user_id, *page_message(event))

    return show_event


def _data(event: page.PageEvent, fields: Json) -> Json:
    """Return the data of an event: its fields, with the fields of nested records spread out."""
    match event:
        case page.UserItemAdded():
            return {"role": "user", "item_id": event.item_id, "delta": "", "previous_item_id": event.previous_item_id}
        case page.ReplyWorded():
            return {"role": "assistant"} | fields
        case page.ThinkerChanged(work=work):
            data: Json = {"call_id": fields.pop("call_id"), "event": fields.pop("event")}
            shown: Json = fields.pop("work", {})
            if work is not None and work.source:
                shown = shown | {"citations": list(shown.get("citations", ()))}
            else:
                shown.pop("citations", None)
            return data | shown | fields
        case page.NoticeChanged():
            return {"id": fields.pop("id"), **fields.pop("content", {}), **fields}
        case page.TaskChanged():
            found: Json = fields.pop("result", {})
            return fields | found | ({"citations": list(found.get("citations", ()))} if event.result else {})
        case page.ChatTurnFinished(reply):
            return dict(reply)
        case _:
            return {name: list(value) if type(value) is tuple else value for name, value in fields.items()}
