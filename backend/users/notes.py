"""Notes: what a user wants to come back to, in short texts, perhaps with a time from which they are due.

A user's notes are stored under `user:{id}:notes`, so that nobody else can name them. An open note is kept for good, or
as long after the last change as everything known of a user; a resolved one for `RESOLVED_S`. The empty user id has no
notes. Every method may raise `MemoryUnavailable`.

A due note is *brought up* once in each conversation. It remembers in which ones, until it is snoozed or resolved.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from backend.errors import BadRequest
from backend.storage.record_format import FORMAT, Format
from backend.users.lists import UserLists, one_line

OPEN_LIMIT = 100
"""Open notes of one user. One more is refused: a note that disappeared by itself would be a broken promise."""
TEXT_LIMIT = 500
"""Characters of one note."""
RESOLVED_LIMIT = 50
"""Resolved notes that are still kept, the latest."""
RESOLVED_S = 30 * 86_400
REST_S = 1_800.0
"""Seconds after a note was made in which it is not brought up: its user has just said it."""
CONVERSATION_LIMIT = 16
"""Conversations, the latest, in which a note remembers having been brought up."""


@dataclass(frozen=True, slots=True, repr=False)
class StoredNote:
    """One note. Times are Unix times in seconds, except for `due`."""

    id: str
    text: str
    created: float
    due: str = ""
    """When it becomes due, in ISO 8601: a day, a moment with its offset, or one without, which means the user's own
    time zone. Empty: it never comes up by itself."""
    timed: float = 0.0
    """When `due` was set."""
    resolved: float = 0.0
    """When it was resolved; 0: it is open."""
    touched: float = 0.0
    """When it was last made, snoozed or brought up."""
    told: tuple[str, ...] = ()
    """The conversations in which it was brought up since it last became due."""
    format: Format = FORMAT

    def __repr__(self) -> str:
        state = "open" if self.open else "resolved"
        return f"StoredNote({self.id}, {state}, {len(self.text)} characters)"  # and nobody's words

    @property
    def open(self) -> bool:
        """Return whether the note is not resolved yet."""
        return not self.resolved

    def due_at(self, zone: tzinfo | None) -> float | None:
        """Return when the note becomes due for a user in `zone` (None means UTC), or None. A day begins at midnight."""
        if not self.due:
            return None
        moment = datetime.fromisoformat(self.due)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC)).timestamp()

    def is_due(self, now: float, zone: tzinfo | None) -> bool:
        """Return whether the note is open and its time has come."""
        at = self.due_at(zone)
        return self.open and at is not None and at <= now

    def comes_up(self, now: float, zone: tzinfo | None) -> bool:
        """Return whether the note is due and to be brought up; one that was due when it was made rests a while."""
        at = self.due_at(zone)
        rested = at is not None and (at > self.timed or now >= self.timed + REST_S)
        return rested and self.is_due(now, zone)


class Notes(UserLists[StoredNote]):
    """All users' notes. A note of another user does not exist."""

    name = "notes"
    kind = StoredNote

    async def add(self, user_id: str, text: str, due: str = "") -> StoredNote:
        """Keep a note; one like it that is open already stays as it is.

        Raises `BadRequest` for no text, one that is too long, too many open notes, or the empty user id.
        """
        if not user_id:
            raise BadRequest("Notes can be kept only for a known user.")
        now = self._clock()
        line = one_line(text, TEXT_LIMIT, f"A note has 1 to {TEXT_LIMIT} characters.", "Say in short what to note.")
        new = StoredNote(f"note_{secrets.token_hex(4)}", line, now, due, now, touched=now)

        def with_it(kept: list[StoredNote]) -> list[StoredNote]:
            if any(_alike(one, new) for one in kept):
                return [replace(one, touched=now) if _alike(one, new) else one for one in kept]
            if sum(one.open for one in kept) >= OPEN_LIMIT:
                raise BadRequest(f"There are {OPEN_LIMIT} open notes already.", hint="Resolve some of them first.")
            return _fresh([*kept, new], now)

        return next(one for one in await self.change(user_id, with_it) if _alike(one, new))

    async def all(self, user_id: str) -> list[StoredNote]:
        """Return every note, the oldest first, resolved ones included."""
        return _fresh(await self.read(user_id), self._clock())

    async def snooze(self, user_id: str, note_id: str, due: str) -> StoredNote | None:
        """Let a note be due from `due` on, and open if it was not; None when there is no such note."""
        now = self._clock()
        return await self._replace(user_id, note_id, due=due, timed=now, resolved=0.0, touched=now, told=())

    async def resolve(self, user_id: str, note_id: str) -> StoredNote | None:
        """Resolve a note; None when there is no such note."""
        return await self._replace(user_id, note_id, resolved=self._clock(), told=())

    async def bring_up(
        self, user_id: str, conversation_id: str, *, zone: tzinfo | None, limit: int
    ) -> list[StoredNote]:
        """Return at most `limit` due notes that were not brought up in this conversation, the longest due first.

        From now on they count as brought up, also for others who ask at the same time.
        """
        now = self._clock()
        chosen: list[StoredNote] = []

        def brought_up(one: StoredNote) -> StoredNote:
            return replace(one, told=(*one.told, conversation_id)[-CONVERSATION_LIMIT:], touched=now)

        def marked(kept: list[StoredNote]) -> list[StoredNote]:
            due = [one for one in kept if one.comes_up(now, zone) and conversation_id not in one.told]
            chosen[:] = sorted(due, key=lambda one: one.due_at(zone) or 0.0)[:limit]
            return [brought_up(one) if one in chosen else one for one in kept]

        marked(await self.read(user_id))
        if chosen:  # hardly ever: most turns are spared the transaction
            await self.change(user_id, marked)
        return chosen

    async def _replace(self, user_id: str, note_id: str, **changes: Any) -> StoredNote | None:
        now = self._clock()

        def changed(kept: list[StoredNote]) -> list[StoredNote]:
            return _fresh([replace(one, **changes) if one.id == note_id else one for one in kept], now)

        return next((one for one in await self.change(user_id, changed) if one.id == note_id), None)


def _alike(one: StoredNote, other: StoredNote) -> bool:
    """Return whether two open notes say the same: a model may make a call twice."""
    return one.open and (one.text.casefold(), one.due) == (other.text.casefold(), other.due)


def _fresh(kept: list[StoredNote], now: float) -> list[StoredNote]:
    """Return the notes without the resolved ones that are too old or too many."""
    resolved = sorted((one.resolved for one in kept if one.resolved > now - RESOLVED_S), reverse=True)
    oldest = resolved[:RESOLVED_LIMIT][-1] if resolved else now
    return [one for one in kept if one.open or one.resolved >= oldest]
