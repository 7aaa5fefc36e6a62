"""Events in Redis: each user has one list of events, which never expires."""

from backend.extensions.calendar.base import CalendarRefused, EventChanged, NoSuchEvent, Span, Stored
from backend.extensions.calendar.events import may_touch
from backend.users.lists import UserLists

EVENT_LIMIT = 1_000
"""The most events that a user may have."""


class KeptEvents(UserLists[Stored]):
    """An `EventStore` in Redis. Every method may raise `MemoryUnavailable`."""

    name = "calendar"
    kind = Stored

    async def events(self, user_id: str, within: Span | None = None) -> list[Stored]:
        return [one for one in await self.read(user_id) if within is None or may_touch(one.text, *within)]

    async def get(self, user_id: str, event_id: str) -> Stored:
        for stored in await self.read(user_id):
            if stored.id == event_id:
                return stored
        raise NoSuchEvent("There is no such event.")

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        def added(kept: list[Stored]) -> list[Stored]:
            if any(stored.id == event_id for stored in kept):
                raise EventChanged("There is an event with that id already.")
            if len(kept) >= EVENT_LIMIT:
                raise CalendarRefused(f"The calendar is full: it holds {EVENT_LIMIT:,} events.")
            return [*kept, Stored(event_id, text)]

        await self.change(user_id, added)

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        await self._exchange(user_id, known, [Stored(known.id, text)])

    async def remove(self, user_id: str, known: Stored) -> None:
        await self._exchange(user_id, known, [])

    async def _exchange(self, user_id: str, known: Stored, new: list[Stored]) -> None:
        def exchanged(kept: list[Stored]) -> list[Stored]:
            if known not in kept:
                raise EventChanged("The event was changed by another client meanwhile.")
            return [stored for stored in kept if stored != known] + new

        await self.change(user_id, exchanged)
