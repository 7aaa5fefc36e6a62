"""Notes are reminders that stay after their delivery until the user resolves them. Many have no time.

    without a time, or set ──► due ──► delivered: without a time again ──► resolved: gone after a month
              ▲                                    │                          │
              └────────────────────────────────────┴── snoozed, made again ───┘

A note is stored with its user's reminders (`repository`), and is delivered like them. The same text gives the same
note, since a model may repeat a call. Methods may raise `MemoryUnavailable`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from backend.errors import BadRequest
from backend.language.moments import words
from backend.notifications.reminders import Reminder
from backend.notifications.schedule import note_time
from backend.notifications.service import ReminderService

RESOLVED_LIMIT = 50
"""The number of latest resolved notes that are kept."""
RESOLVED_S = 30 * 86_400
SPOKEN_OF_S = 1_800.0
"""Seconds for which "it" means the note that was mentioned last."""
LIST_FIRST = "List the notes, and pass the note_id of the one that is meant; ask the user if it is not clear."


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of all users."""

    service: ReminderService
    retention_s: int | None = None
    """Seconds a note without a time is kept after its last change; None: without limit."""

    async def create(self, owner: str, text: str, due: str, time_zone: str) -> dict[str, str | bool]:
        """Keep a note. Raises `BadRequest` for an empty or too long text, or `TooMany`."""
        if not owner:
            raise BadRequest("Notes can be kept only for a known user.")
        line, (at, zone) = self.service.one_line(text), await self._time(owner, due, time_zone)
        id_ = f"note_{hashlib.sha256(line.casefold().encode()).hexdigest()[:12]}"
        new = self._opened(Reminder(id_, owner, line, self.service.clock(), 0.0, note=True), at, zone)
        kept = await self.service.reminders.add(new)
        if kept is not new:
            kept = await self._change(owner, id_, lambda old: self._opened(old, at or old.at, zone)) or new
        return await self._set(kept)

    async def all_of(self, owner: str) -> list[dict[str, str | bool]]:
        """Return the notes: the soonest due first, then those without a time, the newest first."""
        notes = sorted(await self._all(owner), key=lambda each: (_time_of(each) or float("inf"), -each.touched))
        return [_shown(note) for note in notes]

    async def snooze(self, owner: str, note_id: str, due: str, time_zone: str) -> dict[str, str | bool]:
        """Make a note due later, and open a resolved one. Raises `BadRequest` when it is not clear which."""
        at, zone = await self._time(owner, due, time_zone)
        note = await self._meant(owner, note_id, lambda old: self._opened(old, at, zone))
        return await self._set(note)

    async def resolve(self, owner: str, note_id: str) -> dict[str, str | bool]:
        """Resolve a note. Raises `BadRequest` when it is not clear which."""
        now = self.service.clock()

        def resolved(note: Reminder) -> Reminder:
            over = replace(note, at=0.0, due=0.0, tries=0, again=0.0)
            return replace(over, resolved=now, until=now + RESOLVED_S)

        note = await self._meant(owner, note_id, resolved)
        over = sorted((each for each in await self._all(owner) if each.resolved), key=lambda each: -each.resolved)
        for old in over[RESOLVED_LIMIT:]:
            await self.service.reminders.remove(owner, old.id)
        await self.service.delivery.report(owner, note.id, "canceled")
        return _shown(note)

    async def _set(self, note: Reminder) -> dict[str, str | bool]:
        """Schedule a note with a time, and return its shown form."""
        self.service.delivery.wake()
        await self.service.delivery.report(note.owner, note.id, "set")
        return _shown(note)

    def _opened(self, note: Reminder, at: float, zone: str) -> Reminder:
        """Return the note after it was made or snoozed: open, and due at its time, if any."""
        now = self.service.clock()
        until = now + self.retention_s if self.retention_s else 0.0
        fresh = replace(note, at=at, zone=zone, due=0.0, tries=0, again=0.0, told_at=0.0)
        return replace(fresh, resolved=0.0, touched=now, until=until)

    async def _time(self, owner: str, due: str, time_zone: str) -> tuple[float, str]:
        zone = await self.service.zone_of(owner, time_zone)
        return note_time(due, self.service.clock(), zone) if due else 0.0, zone.key if zone else ""

    async def _all(self, owner: str) -> list[Reminder]:
        return [each for each in await self.service.reminders.all_of(owner) if each.note]

    async def _meant(self, owner: str, note_id: str, change: Callable[[Reminder], Reminder]) -> Reminder:
        """Change the note of that id; without an id, the note that was just mentioned, or the only one."""
        note = await self._change(owner, note_id or await self._spoken_of(owner), change)
        if note is None:
            raise BadRequest("The user has no such note.", hint=LIST_FIRST)
        return note

    async def _change(self, owner: str, note_id: str, change: Callable[[Reminder], Reminder]) -> Reminder | None:
        _, note = await self.service.reminders.update(owner, note_id, lambda old: change(old) if old.note else old)
        if note is None or not note.note:
            return None
        await self.service.delivery.withdraw(owner, note_id)
        return note

    async def _spoken_of(self, owner: str) -> str:
        open_ones = [note for note in await self._all(owner) if not note.resolved]
        if not open_ones:
            raise BadRequest("The user has no open notes.")
        latest = max(note.touched for note in open_ones)
        since = self.service.clock() - SPOKEN_OF_S
        just_now = [note for note in open_ones if note.touched == latest and latest > since]
        for candidates in (just_now, open_ones):
            if len(candidates) == 1:
                return candidates[0].id
        raise BadRequest("It is not clear which note is meant.", hint=LIST_FIRST)


def _time_of(note: Reminder) -> float:
    return note.due or note.at


def _shown(note: Reminder) -> dict[str, str | bool]:
    """Return a note for the model, without empty fields. Its time has an offset if the zone is known."""
    data: dict[str, str | bool] = {"id": note.id, "text": note.text}
    if at := _time_of(note):
        here = datetime.fromtimestamp(at, ZoneInfo(note.zone) if note.zone else UTC)
        here = here if note.zone else here.replace(tzinfo=None)
        data |= {"due": here.isoformat(timespec="seconds"), "when": words(here, None)}
    if note.resolved:
        data["state"] = "resolved"
    elif note.due or (note.told_at and not note.at):
        data["is_due"] = True
    return data
