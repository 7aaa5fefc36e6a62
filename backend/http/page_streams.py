"""Every open page has an event stream outside of calls, which is bounded and ends with the page.

A call has its own event log, ordered and numbered. These streams carry what happens to a *user*: notices, reminders,
tasks, decisions. Nothing is stored for a page that opens later, since it asks for the state then.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import partial

from backend.errors import TooMany
from backend.sessions.event_log import EventLog, PageMessage

STREAMS_PER_USER = 8
STREAMS_LIMIT = 2_000
"""The most streams of this process, for all users together."""
EVENTS_KEPT = 200
"""The most events that wait in one stream for a slow reader."""
RETRY_S = 15


class PageStreams:
    """The streams of the pages that this process serves."""

    def __init__(self) -> None:
        self._open: dict[str, dict[str, PageStream]] = {}
        self._closing = False

    @property
    def count(self) -> int:
        """The number of open streams."""
        return sum(map(len, self._open.values()))

    def show(self, user_id: str, message: PageMessage) -> None:
        """Send `message` to each open page of that user in this process."""
        for stream in self._open.get(user_id, {}).values():
            stream.event_log.append(message)

    def reserve(self, user_id: str) -> PageStream:
        """Return a stream for a new page; its reader opens it. Raises `TooMany`."""
        if self._closing or len(self._open.get(user_id, ())) >= STREAMS_PER_USER or self.count >= STREAMS_LIMIT:
            raise TooMany("Too many pages are open.", retry_after_s=RETRY_S, hint="Close one of them.")
        return PageStream(user_id)

    def close(self) -> None:
        """End every stream, and refuse new ones."""
        self._closing = True
        for streams in self._open.values():
            for stream in streams.values():
                stream.event_log.close()

    def open(self, stream: PageStream) -> None:
        """Show events on `stream` from now on."""
        self._open.setdefault(stream.user_id, {})[stream.id] = stream
        if self._closing:
            stream.event_log.close()

    def remove(self, stream: PageStream) -> None:
        """Show nothing on `stream` from now on."""
        stream.event_log.close()
        streams = self._open.get(stream.user_id, {})
        streams.pop(stream.id, None)
        if not streams:
            self._open.pop(stream.user_id, None)


@dataclass(frozen=True, slots=True, eq=False)
class PageStream:
    """The stream of one open page. Its reader opens it first, and always removes it in the end."""

    user_id: str = field(repr=False)
    id: str = field(default_factory=partial(secrets.token_hex, 6))
    event_log: EventLog = field(default_factory=partial(EventLog, EVENTS_KEPT))
