"""The profile of a user: preferences, facts, a summary, signals, mode and standing instructions, as one type.

Memory keeps it as a JSON object at `user:{id}:context`. `UserProfile.read` and `stored` are the only places that know
that form. Reading is lenient, for the object may be older or newer than this code: a part of another form is skipped
and counted, and a field that is not known here is carried along unread and written back. The changes that can be made
are in `profile_updates`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args, get_type_hints

import msgspec

from backend.runtime.faults import skip_record
from backend.storage.memory import Memory, Unwatch

INSTRUCTION_LIMIT = 10
"""Standing instructions of a user. One more is refused: none that the user relies on may be dropped."""
INSTRUCTION_CHARS = 300
PreferenceName = Literal["name", "default_location", "temperature_unit", "watched_tickers", "time_zone", "language"]
CallPreferenceName = Literal[
    "voice", "speech_speed", "responder", "turn_patience", "interruptions", "captions", "theme"
]
"""The preferences for the user's calls and page; users choose them, and no model does."""
CALL_PREFERENCES = frozenset(get_args(CallPreferenceName))
UNKNOWN = "unknown"
"""The field of each part that holds values of newer versions."""

D = TypeVar("D")


class _Part:
    __slots__ = ()

    def stored(self) -> dict[str, object]:
        """Return what is set as JSON data, by name; the fields of a newer version come last."""
        part: Any = self
        written: dict[str, object] = {}
        for one in fields(part):
            value = getattr(part, one.name)
            if one.name != UNKNOWN and (plain := _plain(value)):
                written[one.name] = plain
        return {**written, **part.unknown}


@dataclass(frozen=True, slots=True, repr=False)
class Preferences(_Part):
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
    """The language to be spoken to in, by its English name or its own; empty: the one the user speaks."""
    voice: str = ""
    """The assistant's voice, by the name it has with the provider."""
    speech_speed: str = ""
    """How fast the assistant speaks: a number, 1 being usual."""
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
    unknown: Mapping[str, object] = field(default_factory=dict)
    """Preferences of a newer version, as they are stored."""

    @property
    def speed(self) -> float:
        """How fast the assistant speaks; 0: none is chosen."""
        try:
            return float(self.speech_speed or 0)
        except ValueError:  # written by another version
            return 0.0

    def of_user(self) -> dict[str, object]:
        """Return the preferences that say something about the user, without those for calls and the page."""
        return {name: value for name, value in self.stored().items() if name not in CALL_PREFERENCES}


@dataclass(frozen=True, slots=True)
class Signals(_Part):
    """Counts of a user's activity. `last_active` is Unix time in seconds."""

    topics: Mapping[str, int] = field(default_factory=dict)
    last_active: float = 0.0
    session_count: int = 0
    unknown: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Signals of a newer version, as they are stored."""


@dataclass(frozen=True, slots=True, repr=False)
class UserProfile(_Part):
    """Everything known about one user."""

    preferences: Preferences = field(default_factory=Preferences)
    facts: tuple[str, ...] = ()
    summary: str = ""
    summary_updated_at: float = 0.0
    """Unix time in seconds at which the summary was written; 0: there is none, or that is not known."""
    turn_count_at_summary: int = 0
    """Turns of the user in the conversation that the summary was last written from."""
    signals: Signals = field(default_factory=Signals)
    mode: str = ""
    """The name of the mode the user has chosen; empty: none."""
    instructions: tuple[str, ...] = ()
    """How the user always wants to be answered, in their own words, oldest first."""
    unknown: Mapping[str, object] = field(default_factory=dict)
    """Parts of a newer version, as they are stored."""

    def __repr__(self) -> str:  # without the user's words
        return f"UserProfile({len(self.preferences.stored())} preferences, {len(self.facts)} facts, {self.signals})"

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> UserProfile:
        """Return the profile in its stored form; a part of another form is skipped."""
        profile = _read(cls, stored)
        bounded = tuple(text[:INSTRUCTION_CHARS] for text in profile.instructions[:INSTRUCTION_LIMIT])
        return replace(profile, instructions=bounded)

    def narrowed(self, preferences: Collection[str], *, summary_chars: int = 0) -> UserProfile:
        """Return a profile with only these preferences, the instructions and so many characters of the summary."""
        chosen = {name: value for name, value in self.preferences.stored().items() if name in preferences}
        return UserProfile(
            _read(Preferences, chosen), summary=self.summary[:summary_chars], instructions=self.instructions
        )

    def shown(self) -> dict[str, object]:
        """Return what a model is shown of the user as JSON data: preferences without the time zone, facts, summary."""
        shown = replace(self.preferences, time_zone="").of_user()
        if self.facts:
            shown["facts"] = list(self.facts)
        if self.summary:
            shown["summary"] = self.summary
        return shown


async def load_profile(memory: Memory, user_id: str) -> UserProfile:
    """Return the profile memory has. Raises `MemoryUnavailable`."""
    return UserProfile.read(await memory.user_context(user_id))


def watch_profile(memory: Memory, user_id: str, listener: Callable[[UserProfile], None]) -> Unwatch:
    """Call `listener` with every change of the user's profile, until the returned function is called."""
    return memory.listeners.add(user_id, lambda stored: listener(UserProfile.read(stored)))


def _read(kind: type[D], stored: object) -> D:
    """Return the dataclass `kind` with the valid fields of `stored`, and the other fields as unknown ones."""
    if not isinstance(stored, Mapping):
        skip_record("profile", TypeError())
        return kind()
    types = _types(cast(Hashable, kind))
    read = {name: _part(stored[name], type_) for name, type_ in types.items() if name in stored}
    unknown = {name: value for name, value in stored.items() if name not in types}
    read = {name: part for name, part in read.items() if part is not None}
    return kind(**read, **{UNKNOWN: unknown})


def _part(value: object, type_: Any) -> Any:
    """Return `value` as `type_`; a list or an object keeps the items of the right form. None: the form is wrong."""
    if isinstance(type_, type) and is_dataclass(type_):
        return _read(type_, value)
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        skip_record("profile", error)
    items = get_args(type_)
    if isinstance(value, list) and items:
        return tuple(item for item in value if isinstance(item, items[0]))
    if isinstance(value, Mapping) and items:
        return {name: item for name, item in value.items() if isinstance(item, items[1])}
    return None


def _plain(value: Any) -> object:
    if isinstance(value, _Part):
        return value.stored()
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    return {name: type_ for name, type_ in get_type_hints(kind).items() if name != UNKNOWN}
