"""The profile of a user: preferences, facts, a summary, signals, mode and standing instructions, as one type.

Memory keeps it as a JSON object at `user:{id}:context`; `UserProfile.read` and `stored` are the only places that know
that form. The changes that can be made are in `profile_updates`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import msgspec

from backend.runtime.faults import decode_or_skip
from backend.storage.memory import Memory, Unwatch

INSTRUCTION_LIMIT = 10
"""The most standing instructions of a user. One more is refused, since the user relies on the earlier ones."""
INSTRUCTION_CHARS = 300
PreferenceName = Literal["name", "default_location", "temperature_unit", "watched_tickers", "time_zone", "language"]
CallPreferenceName = Literal[
    "voice", "speech_speed", "responder", "turn_patience", "interruptions", "captions", "theme"
]
"""The preferences for calls and the page, which only users choose, never a model."""
CALL_PREFERENCES = frozenset(get_args(CallPreferenceName))


@dataclass(frozen=True, slots=True, repr=False)
class Preferences:
    """A user's preferences. An empty value is not set."""

    name: str = ""
    default_location: str = ""
    temperature_unit: str = ""
    """Either `celsius` or `fahrenheit`."""
    watched_tickers: tuple[str, ...] = ()
    """Symbols of shares, oldest first."""
    time_zone: str = ""
    """An IANA name, e.g. Europe/Oslo."""
    language: str = ""
    """The language of answers, by its English name or its own; empty: the one that the user speaks."""
    voice: str = ""
    """The provider's name of the assistant's voice."""
    speech_speed: str = ""
    """The speed of the assistant's speech, as a number; 1 is normal."""
    responder: str = ""
    """The preferred provider of calls, by its name in RESPONDERS."""
    turn_patience: str = ""
    """How long a pause in the user's speech may be: a style of `EndpointingStyle`."""
    interruptions: str = ""
    """Whether the user's voice interrupts replies in calls from the page: `on` or `off`."""
    captions: str = ""
    """Whether the page shows what is said as text: `on` or `off`."""
    theme: str = ""
    """The page's colours: `system`, `light` or `dark`."""

    @property
    def speed(self) -> float:
        """The speed of the assistant's speech; 0: none is chosen."""
        try:
            return float(self.speech_speed or 0)
        except ValueError:  # Another version wrote it.
            return 0.0

    def of_user(self) -> dict[str, object]:
        """Return the preferences about the user, without those for calls and the page."""
        return {name: value for name, value in _set(self).items() if name not in CALL_PREFERENCES}


@dataclass(frozen=True, slots=True)
class Signals:
    """Counts of a user's activity. `last_active` is Unix time in seconds."""

    topic_counts: Mapping[str, int] = field(default_factory=dict)
    last_active: float = 0.0
    session_count: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class UserProfile:
    """Everything known about one user."""

    preferences: Preferences = field(default_factory=Preferences)
    facts: tuple[str, ...] = ()
    summary: str = ""
    summary_updated_at: float = 0.0
    """The Unix time in seconds of the summary; 0: there is none, or its time is unknown."""
    turn_count_at_summary: int = 0
    """The user's turns in the conversation from which the summary was last written."""
    signals: Signals = field(default_factory=Signals)
    mode: str = ""
    """The name of the mode the user has chosen; empty: none."""
    instructions: tuple[str, ...] = ()
    """The user's standing instructions for answers, in their own words, oldest first."""

    def __repr__(self) -> str:  # without the user's words
        return f"UserProfile({len(_set(self.preferences))} preferences, {len(self.facts)} facts, {self.signals})"

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> UserProfile:
        """Return the profile in its stored form, without the fields that this server cannot read."""
        return msgspec.convert(_readable(cls, stored), cls)

    def stored(self, before: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Return what is set as JSON data, by name; what this server cannot read of `before` stays as it is."""
        return _carried(UserProfile, before, _set(self))

    def missing_in(self, other: UserProfile) -> list[str]:
        """Return the names of the fields, and of the preferences, that are set here and not the same in `other`."""
        here, there = (_set(each) for each in (self, other))
        found = _missing(here.pop("preferences", {}), there.pop("preferences", {}))
        return [*found, *_missing(here, there)]

    def narrowed(self, preferences: Collection[str], *, summary_chars: int = 0) -> UserProfile:
        """Return a profile with only these preferences, the instructions and `summary_chars` of the summary."""
        chosen = {name: value for name, value in _set(self.preferences).items() if name in preferences}
        known = msgspec.convert(chosen, Preferences)
        return UserProfile(known, summary=self.summary[:summary_chars], instructions=self.instructions)

    def shown(self) -> dict[str, object]:
        """Return the user's data for a model as JSON data: preferences without the time zone, facts, summary."""
        shown = replace(self.preferences, time_zone="").of_user()
        if self.facts:
            shown["facts"] = list(self.facts)
        if self.summary:
            shown["summary"] = self.summary
        return shown


async def load_profile(memory: Memory, user_id: str) -> UserProfile:
    """Return the stored profile. Raises `MemoryUnavailable`."""
    return UserProfile.read(await memory.user_context(user_id))


def watch_profile(memory: Memory, user_id: str, observer: Callable[[UserProfile], None]) -> Unwatch:
    """Call `observer` with every change of the user's profile, until the returned function is called."""
    return memory.observers.add(user_id, lambda stored: observer(UserProfile.read(stored)))


_PARTS: Mapping[str, type[Any]] = {"preferences": Preferences, "signals": Signals}


def _readable(kind: type[Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields of a `kind` that this server can read; the others are counted."""
    found = dict[str, Any]()
    for name in (each.name for each in fields(kind) if each.name in stored):
        part = _PARTS.get(name)
        value = _readable(part, stored[name]) if part and isinstance(stored[name], dict) else stored[name]
        if decode_or_skip("profile", {name: value}, lambda field: msgspec.convert(field, kind)) is not None:
            found[name] = value
    return found


def _carried(kind: type[Any], before: Mapping[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a `kind`, and from `before` the fields that this server cannot read, as they are."""
    readable = _readable(kind, before)
    kept = {name: value for name, value in before.items() if name not in readable}
    parts = {
        name: _carried(part, before[name], data.get(name, {})) for name, part in _PARTS.items() if name in readable
    }
    return data | {name: part for name, part in parts.items() if part} | kept


def _missing(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    return [name for name, value in here.items() if there.get(name) != value]


def _set(part: object) -> dict[str, Any]:
    """Return the set fields of a part of the profile as JSON data."""
    data = part if isinstance(part, dict) else msgspec.to_builtins(part)
    plain = {name: _set(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items() if value}
