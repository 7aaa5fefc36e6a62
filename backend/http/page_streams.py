"""What open pages are told outside of calls: one stream each, bounded, gone with the page.

Within a call its own feed tells the page everything, in order and numbered; here is what happens to a *user*: notices,
reminders, tasks, decisions. Nothing is kept for a page that comes later, since it asks how things stand when it comes.
"""

from __future__ import annotations

import secrets

from backend.errors import TooMany
from backend.notifications.presence import Presence
from backend.sessions.event_log import EventLog
from backend.sessions.page_json import PageMessage

PAGES_OF_ONE = 8
"""Streams one user may have in this process."""
PAGES = 2_000
"""And all together."""
EVENTS_KEPT = 200
"""Of one stream, while its reader is slow."""
RETRY_S = 15


class Pages:
    """The open pages of this process."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self._feeds: dict[str, dict[str, EventLog]] = {}
        self._closing = False

    def __repr__(self) -> str:
        return f"Pages({self.open})"

    @property
    def open(self) -> int:
        """How many there are."""
        return sum(map(len, self._feeds.values()))

    def is_here(self, user_id: str) -> bool:
        """Whether that user has one open in this process."""
        return user_id in self._feeds

    def show(self, user_id: str, message: PageMessage) -> None:
        """Send `message` to each open page of that user in this process."""
        for event_log in self._feeds.get(user_id, {}).values():
            event_log.append(message)

    def stream(self, user_id: str) -> Page:
        """For a new one, which `enter`s when it is read. Raises `TooMany`."""
        own = self._feeds.get(user_id, {})
        if self._closing or len(own) >= PAGES_OF_ONE or self.open >= PAGES:
            raise TooMany("Too many pages are open.", retry_after_s=RETRY_S, hint="Close one of them.")
        return Page(self, user_id)

    def close(self) -> None:
        """Every stream ends; there are no new ones."""
        self._closing = True
        for feeds in self._feeds.values():
            for feed in feeds.values():
                feed.close()

    async def enter(self, page: Page) -> None:
        """The page is there."""
        self._feeds.setdefault(page.user_id, {})[page.id] = page.event_log
        if self._closing:
            page.event_log.close()
        await self.still_open(page)

    async def still_open(self, page: Page) -> None:
        """For all processes: that page is open."""
        await self._presence.mark_open(page.user_id, page.id)

    async def left(self, page: Page) -> None:
        """The page is gone."""
        feeds = self._feeds.get(page.user_id, {})
        feeds.pop(page.id, None)
        if not feeds:
            self._feeds.pop(page.user_id, None)
        await self._presence.mark_closed(page.user_id, page.id)


class Page:
    """One open page's stream."""

    def __init__(self, pages: Pages, user_id: str) -> None:
        self._pages = pages
        self.user_id = user_id
        self.id = secrets.token_hex(6)
        self.event_log = EventLog(EVENTS_KEPT)
        """What it is told, until it is left."""

    def __repr__(self) -> str:
        return f"Page({self.id}, {self.event_log})"

    async def enter(self) -> None:
        """From now on it is told what happens. `leave` it whatever comes."""
        await self._pages.enter(self)

    async def still_open(self) -> None:
        """Say so, again and again."""
        await self._pages.still_open(self)

    async def leave(self) -> None:
        """Its reader is gone."""
        self.event_log.close()
        await self._pages.left(self)
