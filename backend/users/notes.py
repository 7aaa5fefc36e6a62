"""What a user wants to come back to: short notes, perhaps with a time from which they are due, open or resolved.

All of a user's lie under `user:{id}:notes`, so that nobody else can name them. An open one is kept for good, or for so
long after the last change as everything that is known of a user; a resolved one for `RESOLVED_S` more. Whoever is not
known, the empty id, has none and keeps none. Every method may raise `MemoryUnavailable`.

A due note is *brought up* once in each conversation. It remembers in which, until it is snoozed or resolved.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis

from backend.errors import BadRequest
from backend.users.lists import UserLists

OPEN_LIMIT = 100
"""Open notes of one user. One more is refused: a note that went by itself would be a promise broken."""
TEXT_LIMIT = 500
"""Characters of one."""
RESOLVED_LIMIT = 50
"""Resolved notes that are still kept, the latest."""
RESOLVED_S = 30 * 86_400
REST_S = 1_800.0
"""Seconds in which nobody needs to hear again what they have just said."""
TOLD_LIMIT = 16
"""Conversations a note remembers having been brought up in, the latest."""


@dataclass(frozen=True, slots=True, repr=False)
class StoredNote:
    """One note. Times are Unix times in seconds, but for `due`."""

    id: str
    text: str
    created: float
    due: str = ""
    """From when it is due, in ISO 8601: a day, a moment with its offset, or one without, which is meant wherever the
    user is. Empty: it never comes up by itself."""
    timed: float = 0.0
    """When it was said from when it is due."""
    resolved: float = 0.0
    """When it was; 0: it is open."""
    touched: float = 0.0
    """When it was last spoken of: made, snoozed, or brought up."""
    told: tuple[str, ...] = ()
    """The conversations it was brought up in since it last became due."""

    def __repr__(self) -> str:
        state = "open" if self.open else "resolved"
        return f"StoredNote({self.id}, {state}, {len(self.text)} characters)"  # and nobody's words

    @property
    def open(self) -> bool:
        """Whether it still wants something."""
        return not self.resolved

    def due_at(self, zone: tzinfo | None) -> float | None:
        """When it becomes due for a user in `zone` (None: taken for UTC); None: never. A day begins at midnight."""
        if not self.due:
            return None
        moment = datetime.fromisoformat(self.due)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC)).timestamp()

    def is_due(self, now: float, zone: tzinfo | None) -> bool:
        """Whether it is open, and its time has come."""
        at = self.due_at(zone)
        return self.open and at is not None and at <= now

    def comes_up(self, now: float, zone: tzinfo | None) -> bool:
        """Whether it is due and worth being reminded of: what was due when it was said ("today") rests for a while."""
        at = self.due_at(zone)
        rested = at is not None and (at > self.timed or now >= self.timed + REST_S)
        return rested and self.is_due(now, zone)


class Notes(Protocol):
    """A user's notes. A note of somebody else's does not exist."""

    async def add(self, user_id: str, text: str, due: str = "") -> StoredNote:
        """Keep one; the same one that is open already stays as it is. Raises `BadRequest` for no text, or too many."""
        ...

    async def all(self, user_id: str) -> list[StoredNote]:
        """Every one, resolved ones included: the oldest first."""
        ...

    async def snooze(self, user_id: str, note_id: str, due: str) -> StoredNote | None:
        """Let it be due from then on, and open if it was not; None when there is none."""
        ...

    async def resolve(self, user_id: str, note_id: str) -> StoredNote | None:
        """It is done with; None when there is none."""
        ...

    async def bring_up(
        self, user_id: str, conversation_id: str, *, zone: tzinfo | None, limit: int
    ) -> list[StoredNote]:
        """Those that are due and were not brought up in this conversation yet, the longest due first; from now on
        they were, whoever else asks at the same time."""
        ...


class RedisNotes:
    """`Notes` over a redis.asyncio client, which stays its owner's."""

    def __init__(self, client: Redis, *, ttl_s: int | None = None, clock: Callable[[], float] = time.time) -> None:
        self._lists = UserLists(client, "notes", StoredNote, ttl_s=ttl_s)
        self._clock = clock

    def __repr__(self) -> str:
        return f"RedisNotes({self._lists!r})"

    async def add(self, user_id: str, text: str, due: str = "") -> StoredNote:
        if not user_id:
            raise BadRequest("Notes are kept for a user we know only.")
        now = self._clock()
        new = StoredNote(f"note_{secrets.token_hex(4)}", checked_text(text), now, due, now, touched=now)

        def with_it(kept: list[StoredNote]) -> list[StoredNote]:
            if any(_alike(one, new) for one in kept):
                return [replace(one, touched=now) if _alike(one, new) else one for one in kept]
            if sum(one.open for one in kept) >= OPEN_LIMIT:
                raise BadRequest(f"There are {OPEN_LIMIT} open notes already.", hint="Resolve some of them first.")
            return _fresh([*kept, new], now)

        return next(one for one in await self._lists.change(user_id, with_it) if _alike(one, new))

    async def all(self, user_id: str) -> list[StoredNote]:
        return _fresh(await self._lists.read(user_id), self._clock())

    async def snooze(self, user_id: str, note_id: str, due: str) -> StoredNote | None:
        now = self._clock()
        return await self._replace(user_id, note_id, due=due, timed=now, resolved=0.0, touched=now, told=())

    async def resolve(self, user_id: str, note_id: str) -> StoredNote | None:
        return await self._replace(user_id, note_id, resolved=self._clock(), told=())

    async def bring_up(
        self, user_id: str, conversation_id: str, *, zone: tzinfo | None, limit: int
    ) -> list[StoredNote]:
        now = self._clock()
        chosen: list[StoredNote] = []

        def marked(kept: list[StoredNote]) -> list[StoredNote]:
            due = [one for one in kept if one.comes_up(now, zone) and conversation_id not in one.told]
            chosen[:] = sorted(due, key=lambda one: one.due_at(zone) or 0.0)[:limit]
            return [_told(one, conversation_id, now) if one in chosen else one for one in kept]

        marked(await self._lists.read(user_id))
        if chosen:  # hardly ever: most turns are spared the transaction
            await self._lists.change(user_id, marked)
        return chosen

    async def export(self, user_id: str) -> list[dict[str, Any]]:
        """Every one as JSON data, for the user to take away."""
        return [msgspec.to_builtins(one) | {"told": list(one.told)} for one in await self._lists.read(user_id)]

    async def erase(self, user_id: str) -> None:
        """Leave nothing of that user's."""
        await self._lists.erase(user_id)

    async def _replace(self, user_id: str, note_id: str, **changes: Any) -> StoredNote | None:
        now = self._clock()

        def changed(kept: list[StoredNote]) -> list[StoredNote]:
            return _fresh([replace(one, **changes) if one.id == note_id else one for one in kept], now)

        return next((one for one in await self._lists.change(user_id, changed) if one.id == note_id), None)


def checked_text(text: str) -> str:
    """In the form it is kept in. Raises `BadRequest`."""
    line = " ".join(text.split())
    if not line or len(line) > TEXT_LIMIT:
        raise BadRequest(f"A note has 1 to {TEXT_LIMIT} characters.", hint="Say what is to be noted, in short.")
    return line


def _alike(one: StoredNote, other: StoredNote) -> bool:
    """Whether they ask for the same: a model may make a call twice."""
    return one.open and (one.text.casefold(), one.due) == (other.text.casefold(), other.due)


def _told(one: StoredNote, conversation_id: str, now: float) -> StoredNote:
    return replace(one, told=(*one.told, conversation_id)[-TOLD_LIMIT:], touched=now)


def _fresh(kept: Iterable[StoredNote], now: float) -> list[StoredNote]:
    """Without the resolved ones that are too old or too many."""
    kept = list(kept)
    resolved = sorted((one.resolved for one in kept if one.resolved > now - RESOLVED_S), reverse=True)
    oldest = resolved[:RESOLVED_LIMIT][-1] if resolved else now
    return [one for one in kept if one.open or one.resolved >= oldest]
