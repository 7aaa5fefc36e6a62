"""A Thinker's answer can update the profile of the user who asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import msgspec

from backend.errors import BadRequest
from backend.runtime.faults import skip_record
from backend.users.profile_updates import (
    AddFact,
    AssumePreference,
    NotePlace,
    NoteShare,
    ProfileUpdate,
    SetPreference,
    WatchTicker,
)


class ContextUpdate(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """An update of the asking user's profile; an empty field changes nothing.

    It holds facts from the question and the tools, never from the user's profile, since other users may get the answer
    with which it is kept.
    """

    set_name: str = ""
    set_default_location: str = ""
    """A home that replaces the known one."""
    set_temperature_unit: str = ""
    """Either `celsius` or `fahrenheit`."""
    add_watched_tickers: tuple[str, ...] = ()
    """The shares of stock questions. They are watched and noted."""
    new_facts: tuple[str, ...] = ()
    """Facts about the user, in a few words each."""
    places: tuple[str, ...] = ()
    """The places of weather questions. They are noted, and the first becomes the home of a user who has stated none."""

    def updates(self) -> Iterator[ProfileUpdate]:
        """Yield the changes of the profile. Raises `BadRequest` for a value that no profile may hold."""
        if self.set_name:
            yield SetPreference("name", self.set_name)
        if self.set_default_location:
            yield SetPreference("default_location", self.set_default_location)
        if self.set_temperature_unit:
            yield SetPreference("temperature_unit", self.set_temperature_unit)
        for symbol in self.add_watched_tickers:
            yield WatchTicker(symbol)
            yield NoteShare(symbol)
        yield from map(AddFact, self.new_facts)
        for place in self.places:
            yield NotePlace(place)
        yield from (AssumePreference("default_location", place) for place in self.places[:1])

    def allowed(self) -> tuple[ProfileUpdate, ...]:
        """Return the changes; none if a value is not allowed, as may happen with a service's answer."""
        try:
            return tuple(self.updates())
        except BadRequest as error:
            skip_record("context update", error)
            return ()


def merged(updates: Iterable[ContextUpdate | None]) -> ContextUpdate | None:
    """Return one update that joins these, where later texts replace earlier ones; None: there are no changes."""
    given = [update for update in updates if update is not None]
    return reduce(_both, given) if given else None


def _both(earlier: ContextUpdate, later: ContextUpdate) -> ContextUpdate:
    return ContextUpdate(
        set_name=later.set_name or earlier.set_name,
        set_default_location=later.set_default_location or earlier.set_default_location,
        set_temperature_unit=later.set_temperature_unit or earlier.set_temperature_unit,
        add_watched_tickers=tuple(dict.fromkeys((*earlier.add_watched_tickers, *later.add_watched_tickers))),
        new_facts=tuple(dict.fromkeys((*earlier.new_facts, *later.new_facts))),
        places=tuple(dict.fromkeys((*earlier.places, *later.places))),
    )
