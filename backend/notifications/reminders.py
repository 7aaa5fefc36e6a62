"""The decisions about a reminder are pure; `repository` stores the outcome.

    set ──► due ──► delivered ──► gone; repeating, set for its next time; a note (`notes`), without a time
             │ └─ user not reached: tried again, later and later, for KEEP days; then gone, undelivered
             └─ the next time of a repeating one comes: it takes the place of this one

A reminder counts as delivered when its notice was (see `notifications.notices`): spoken in a call, shown on an open
page, or accepted by the webhook, whichever came first.
"""

from datetime import UTC, datetime
from typing import Literal, NotRequired, TypedDict
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from backend.notifications.notices import Notice
from backend.notifications.schedule import Series, last_time, next_time
from backend.storage.record_format import FORMAT, Format

Way = Literal["call", "page", "webhook"]
"""The way in which a reminder reached its user."""

PAUSES_S = (3.0, 60.0, 120.0, 300.0, 900.0, 3_600.0)
"""Seconds before the second attempt, the third, …; the last holds for all others. The first is for open pages."""
KEEP_S = 14 * 86_400
"""Seconds a due reminder that did not reach its user is kept."""
DESERTED_S = 60 * 86_400
"""Seconds after which a repeating reminder ends if it never reached its user."""
MISSES = 3
"""Missed occurrences after which a repeating reminder ends for that reason."""


class ReminderJson(TypedDict):
    """A reminder as its user, the page and the model see it."""

    id: str
    text: str
    at: str | None
    """ISO 8601 on the user's clock."""
    at_s: float
    repeat: str
    state: Literal["set", "due"]
    next: str | None
    tries: int
    when: NotRequired[str]
    """The time in words."""
    in_s: NotRequired[int]
    """Seconds until the time."""
    created_at: NotRequired[float]
    note: NotRequired[Literal[True]]
    """Present only for a note, which stays until it is resolved."""
    interruptible: NotRequired[Literal[False]]
    """Present only if the caller's voice must not interrupt the reminder."""


class Reminder(msgspec.Struct, frozen=True):
    """One reminder as it is stored. Times are Unix times in seconds, 0 for never."""

    id: str
    owner: str
    text: str
    created_at: float
    at: float
    """The next time; 0: there is none, or none after the due one."""
    zone: str = ""
    """The IANA name of the user's time zone; empty: unknown."""
    series: Series | None = None
    """The times of a reminder that repeats."""
    due: float = 0.0
    """The time that is due and not delivered yet."""
    tries: int = 0
    again: float = 0.0
    """The time of the next attempt."""
    missed: int = 0
    """The number of consecutive occurrences that did not reach the user."""
    told_at: float = 0.0
    """The time of the last delivery."""
    interruptible: bool = True
    """False when the caller's voice must not interrupt the reply that speaks it."""
    note: bool = False
    """Whether the reminder stays after its delivery until its user resolves it."""
    touched: float = 0.0
    """The time when a note was last created, snoozed or delivered."""
    resolved: float = 0.0
    """The time when a note was resolved."""
    until: float = 0.0
    """The time when a note without a due time is deleted."""
    format: Format = FORMAT

    def __repr__(self) -> str:  # without the user's words
        return f"Reminder({self.id}, {'due' if self.due else 'set'}, {self.tries} tries)"

    @property
    def notice_id(self) -> str:
        """The id of the notice for the due time. It is the same in every process and attempt."""
        return f"reminder-{self.id}-{self.due:.0f}"

    @property
    def wakes_at(self) -> float:
        """The next time at which the scheduler must handle the reminder; 0: never."""
        times = [time for time in (self.at, self.again if self.due else 0) if time]
        return min(times) if times else self.until

    def to_json(self) -> ReminderJson:
        """Return the reminder as its user, the page and the model see it."""
        shown: ReminderJson = {
            "id": self.id,
            "text": self.text,
            "at": iso(self.due or self.at, self.zone),
            "at_s": self.due or self.at,
            "repeat": self.series.rule if self.series else "none",
            "state": "due" if self.due else "set",
            "next": iso(self.at, self.zone) if self.due and self.at else None,
            "tries": self.tries,
        }
        if self.note:
            shown["note"] = True
        if not self.interruptible:
            shown["interruptible"] = False
        return shown


def notice_of(reminder: Reminder) -> Notice:
    """Return the notice by which a due reminder is delivered."""
    text = f"A reminder: {reminder.text}"
    return Notice(reminder.notice_id, text, "reminder", reminder.id, reminder.due, reminder.interruptible)


def begun(reminder: Reminder, now: float) -> Reminder | None:
    """Return the reminder at `now`: due if its time has come, given up after `KEEP_S`; None when it is over.

    A reminder that is to be delivered now counts one more attempt, and gets the time of the next.
    """
    if reminder.at and reminder.at <= now:
        reminder = _next(reminder, now)
    if reminder.due and now - reminder.due > KEEP_S:
        reminder = replace(reminder, due=0.0, tries=0, again=0.0, missed=reminder.missed + 1)
    if reminder.missed >= MISSES and now - max(reminder.told_at, reminder.created_at) > DESERTED_S:
        return None
    if reminder.due and reminder.again <= now:
        pause_s = PAUSES_S[min(reminder.tries, len(PAUSES_S) - 1)]
        reminder = replace(reminder, tries=reminder.tries + 1, again=now + pause_s)
    stays = reminder.note and not 0 < reminder.until <= now
    return reminder if reminder.due or reminder.at or stays else None


def delivered(reminder: Reminder, notice_id: str, now: float) -> Reminder | None:
    """Return the reminder after that notice was delivered; None when it is done. An older notice changes nothing."""
    if not reminder.due or reminder.notice_id != notice_id:
        return reminder
    if not reminder.at and not reminder.note:
        return None
    return replace(reminder, due=0.0, tries=0, again=0.0, missed=0, told_at=now, touched=now)


def iso(at: float, zone: str) -> str | None:
    """Return a time as ISO 8601 on that zone's clock, or in UTC; None for never."""
    if not at:
        return None
    return datetime.fromtimestamp(at, ZoneInfo(zone) if zone else UTC).isoformat(timespec="seconds")


def _next(reminder: Reminder, now: float) -> Reminder:
    """Make the reminder's time due. Of several past times the last counts; one that is still due is missed."""
    due, at, series = reminder.at, 0.0, reminder.series
    if series is not None:
        due = last_time(series, now) or reminder.at
        at = next_time(series, now) or 0.0
    missed = reminder.missed + bool(reminder.due)
    return replace(reminder, due=due, at=at, tries=0, again=now, missed=missed)
