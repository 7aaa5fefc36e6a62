"""Updates change a user's profile. Each is checked when it is created, and its `apply` is pure.

Preferences are overwritten, at most 20 facts are kept (deduplicated) and 10 standing instructions (one more is
refused), the rolling summary is merged, signals are counted. The checks are strict, because the values stand in prompts
and steer tools.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Any, Literal, Protocol

from pydantic import ConfigDict, StringConstraints

from backend.errors import BadRequest, Conflict, MemoryUnavailable
from backend.language.moments import zone_of
from backend.runtime.json_objects import Json
from backend.storage.memory import Memory
from backend.users.lists import one_line
from backend.users.profile import (
    INSTRUCTION_CHARS,
    INSTRUCTION_LIMIT,
    CallPreferenceName,
    PreferenceName,
    Signals,
    UserProfile,
)

SPEEDS = (0.5, 1.5)
"""The slowest and the fastest speed of speech."""

VALUE_LIMIT = 100
"""The most characters of a preference."""
WATCHED_LIMIT = 20
"""The most shares that a user can watch; beyond that, the oldest is dropped."""
FACT_LIMIT = 20
"""The most facts about a user; beyond that, the oldest is dropped."""
FACT_CHARS = 200
PLACES_ASKED = ("Has asked about the weather in: ", "; ", ".")
SHARES_ASKED = ("Asked about ", ", ", " stock")
"""The beginning, the separator and the end of the fact that lists the latest subjects of such questions."""
SUBJECTS_KEPT = 4
SUMMARY_CHARS = 1_500
QUESTION_TOPIC_LIMIT = 50
"""The most topics that are counted for a user; beyond that, the rarest is dropped."""

FactText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=FACT_CHARS)]
SummaryText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=SUMMARY_CHARS)]
InstructionText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=INSTRUCTION_CHARS)]


class _OwnChange:
    """A change that users may send themselves, by its `op`."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid")


class ProfileUpdate(Protocol):
    """A change of a profile."""

    def apply(self, profile: UserProfile) -> UserProfile:
        """Return the profile after the update. Raises `BadRequest` for an instruction beyond the limit."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class SetPreference(_OwnChange):
    """Overwrite one preference, or all watched tickers. Raises `BadRequest` for a value that is not allowed."""

    name: PreferenceName | CallPreferenceName
    value: str | tuple[str, ...]
    op: Literal["set_preference"] = "set_preference"

    def __post_init__(self) -> None:
        if isinstance(self.value, str) != (self.name != "watched_tickers"):
            raise BadRequest("The watched tickers are a list of symbols; every other preference is one text.")
        if isinstance(self.value, str):
            checked: str | tuple[str, ...] = checked_value(self.name, self.value)
        else:
            checked = tuple(dict.fromkeys(checked_ticker(one) for one in self.value))[-WATCHED_LIMIT:]
        object.__setattr__(self, "value", checked)

    def apply(self, profile: UserProfile) -> UserProfile:
        return _with_preference(profile, self.name, self.value)


@dataclass(frozen=True, slots=True, repr=False)
class AssumePreference:
    """Use a value, such as a browser's time zone, until the user states one. Raises `BadRequest` if not allowed."""

    name: PreferenceName
    value: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checked_value(self.name, self.value))

    def apply(self, profile: UserProfile) -> UserProfile:
        is_known = getattr(profile.preferences, self.name)
        return profile if is_known else _with_preference(profile, self.name, self.value)


@dataclass(frozen=True, slots=True)
class DropPreference(_OwnChange):
    """Delete one preference."""

    name: PreferenceName | CallPreferenceName
    op: Literal["drop_preference"] = "drop_preference"

    def apply(self, profile: UserProfile) -> UserProfile:
        return _with_preference(profile, self.name, () if self.name == "watched_tickers" else "")


@dataclass(frozen=True, slots=True)
class WatchTicker(_OwnChange):
    """Begin or stop watching one share. Raises `BadRequest` for an invalid symbol."""

    symbol: str
    watched: bool = True
    op: Literal["watch_ticker"] = "watch_ticker"

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbol", checked_ticker(self.symbol))

    def apply(self, profile: UserProfile) -> UserProfile:
        others = tuple(one for one in profile.preferences.watched_tickers if one != self.symbol)
        watched = (*others, self.symbol)[-WATCHED_LIMIT:] if self.watched else others
        return _with_preference(profile, "watched_tickers", watched)


@dataclass(frozen=True, slots=True, repr=False)
class AddFact(_OwnChange):
    """Add a fact about the user, in a few words. A known fact becomes the newest."""

    text: FactText
    op: Literal["add_fact"] = "add_fact"

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, facts=_with_fact(profile.facts, shortened(self.text, FACT_CHARS)))


@dataclass(frozen=True, slots=True, repr=False)
class NotePlace:
    """Note the place of a weather question; one fact lists the latest places. Raises `BadRequest`."""

    place: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", checked_value("default_location", self.place))

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, facts=_with_subject(profile.facts, PLACES_ASKED, self.place))


@dataclass(frozen=True, slots=True)
class NoteShare:
    """Note the share of a stock question; one fact lists the latest shares. Raises `BadRequest`."""

    symbol: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbol", checked_ticker(self.symbol))

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, facts=_with_subject(profile.facts, SHARES_ASKED, self.symbol))


@dataclass(frozen=True, slots=True, repr=False)
class DropFact(_OwnChange):
    """Delete one fact; case, spaces and punctuation do not matter."""

    text: FactText
    op: Literal["drop_fact"] = "drop_fact"

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, facts=_without(profile.facts, self.text))


@dataclass(frozen=True, slots=True, repr=False)
class WriteSummary(_OwnChange):
    """Replace the summary with the user's own words; an empty text deletes it."""

    text: SummaryText
    op: Literal["write_summary"] = "write_summary"

    def apply(self, profile: UserProfile) -> UserProfile:
        summary = shortened(self.text, SUMMARY_CHARS)
        return replace(profile, summary=summary, summary_updated_at=0.0, turn_count_at_summary=0)


@dataclass(frozen=True, slots=True, repr=False)
class MergeSummary:
    """Replace the summary `over` with `text`, which covers it and the time since.

    If the stored summary is no longer `over`, another call has changed it: both are kept, and the next merge joins
    them.
    """

    text: str
    over: str = ""
    at: float = 0.0
    """Unix time in seconds."""
    turns: int = 0
    """The user's turns in the conversation from which it was written."""

    def apply(self, profile: UserProfile) -> UserProfile:
        if not self.text.strip():
            return profile
        merged = _merged(profile.summary, self.over, self.text)
        return replace(profile, summary=merged, summary_updated_at=self.at, turn_count_at_summary=self.turns)


@dataclass(frozen=True, slots=True, repr=False)
class AddInstruction(_OwnChange):
    """Add a standing instruction for answers from now on. A known one keeps its place.

    Raises `BadRequest` for an empty or too long text.
    """

    text: InstructionText
    op: Literal["add_instruction"] = "add_instruction"

    def __post_init__(self) -> None:
        message = f"A standing instruction has 1 to {INSTRUCTION_CHARS} characters, in words."
        line = one_line(self.text, INSTRUCTION_CHARS, message)
        if not _normal(line):
            raise BadRequest(message)
        object.__setattr__(self, "text", line)

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, instructions=_with_instruction(profile.instructions, self.text))


@dataclass(frozen=True, slots=True, repr=False)
class DropInstruction(_OwnChange):
    """Delete one standing instruction; case, spaces and punctuation do not matter."""

    text: InstructionText
    op: Literal["drop_instruction"] = "drop_instruction"

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, instructions=_without(profile.instructions, self.text))


@dataclass(frozen=True, slots=True)
class SetMode:
    """Choose a mode. The caller has checked that it exists."""

    name: str

    def apply(self, profile: UserProfile) -> UserProfile:
        return replace(profile, mode=self.name)


@dataclass(frozen=True, slots=True)
class CountQuestion:
    """Count a question about `domain` at Unix time `at`."""

    domain: str
    at: float

    def apply(self, profile: UserProfile) -> UserProfile:
        counts = _counted(profile.signals.topic_counts, self.domain)
        return replace(profile, signals=replace(_active(profile.signals, self.at), topic_counts=counts))


@dataclass(frozen=True, slots=True)
class CountSession:
    """Count a session that ended at Unix time `at`."""

    at: float

    def apply(self, profile: UserProfile) -> UserProfile:
        signals = replace(_active(profile.signals, self.at), session_count=profile.signals.session_count + 1)
        return replace(profile, signals=signals)


async def update_profile(
    memory: Memory, user_id: str, *updates: ProfileUpdate, whole: bool = False, only_stored: bool = False
) -> UserProfile:
    """Apply `updates` in order, atomically, to the stored profile, and return it.

    Without `updates`, an empty profile is stored for a user who has none. With `only_stored`, nothing is changed for
    such a user. A field that this server cannot read stays as it is: that raises `Conflict` with `whole`, and
    `MemoryUnavailable` when the updates change nothing else. An update may raise, too; then nothing is changed.
    """

    def change(stored: Json) -> Json:
        changed = reduce(lambda profile, update: update.apply(profile), updates, UserProfile.read(stored))
        kept = changed.stored(stored)
        lost = changed.missing_in(UserProfile.read(kept))
        if lost and whole:
            unreadable = f"This server cannot read what your profile holds as {', '.join(lost)}. Nothing was changed."
            raise Conflict(unreadable, hint="Send the other changes without it. A newer server may have written it.")
        if lost and kept == stored:
            raise MemoryUnavailable("This server cannot read that part of the profile, and leaves it as it is.")
        return kept

    return UserProfile.read(await memory.update_user_context(user_id, change, only_stored=only_stored))


def _with_preference(
    profile: UserProfile, name: PreferenceName | CallPreferenceName, value: str | tuple[str, ...]
) -> UserProfile:
    changed: Any = {name: value}
    return replace(profile, preferences=replace(profile.preferences, **changed))


def _without(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(one for one in texts if _normal(one) != _normal(text))


def _with_fact(facts: tuple[str, ...], fact: str) -> tuple[str, ...]:
    return (*_without(facts, fact), fact)[-FACT_LIMIT:] if fact else facts


def _with_subject(facts: tuple[str, ...], form: tuple[str, str, str], subject: str) -> tuple[str, ...]:
    """Return the facts with this subject in the one fact of that form: one for each would displace the others."""
    begin, between, end = form
    old = next((fact for fact in facts if fact.startswith(begin) and fact.endswith(end)), "")
    known = old.removeprefix(begin).removesuffix(end).split(between)
    subjects = [one for one in known if one not in ("", subject)]
    fact = f"{begin}{between.join([*subjects, subject][-SUBJECTS_KEPT:])}{end}"
    return facts if fact == old else _with_fact(tuple(one for one in facts if one != old), fact)


def _with_instruction(instructions: tuple[str, ...], text: str) -> tuple[str, ...]:
    if any(_normal(one) == _normal(text) for one in instructions):
        return instructions
    if len(instructions) >= INSTRUCTION_LIMIT:
        raise BadRequest(
            f"There are {INSTRUCTION_LIMIT} standing instructions already, and no room for another.",
            hint="Delete one first.",
        )
    return (*instructions, text)


def _merged(stored: str, over: str, text: str) -> str:
    new = shortened(text, SUMMARY_CHARS)
    # In all these cases there is only one summary to keep.
    if not new or not stored or stored == over:
        return new or stored
    if new in stored:
        return stored
    older = shortened(stored, max(0, SUMMARY_CHARS - len(new) - 1))
    return f"{older} {new}".strip()


def _counted(known: Mapping[str, int], domain: str) -> Mapping[str, int]:
    counts = {**known, domain: known.get(domain, 0) + 1}
    while len(counts) > QUESTION_TOPIC_LIMIT:
        del counts[min((one for one in counts if one != domain), key=counts.__getitem__)]
    return counts


def _active(signals: Signals, at: float) -> Signals:
    return replace(signals, last_active=max(signals.last_active, at))


def _normal(fact: str) -> str:
    return re.sub(r"[\W_]+", " ", fact.casefold()).strip()


def shortened(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters, cut after a sentence if possible, otherwise after a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[:limit]
    sentence = max(cut.rfind(stop) for stop in (". ", "! ", "? "))
    return cut[: sentence + 1] if sentence > limit // 2 else cut.rpartition(" ")[0]


CHOICES: Mapping[str, tuple[str, ...]] = {
    "temperature_unit": ("celsius", "fahrenheit"),
    "turn_patience": ("patient", "balanced", "eager"),
    "interruptions": ("on", "off"),
    "captions": ("on", "off"),
    "theme": ("system", "light", "dark"),
}
"""The preferences that are one of a few words."""


def checked_value(name: PreferenceName | CallPreferenceName, value: str) -> str:
    """Return a preference's value in its stored form. Raises `BadRequest`."""
    value = value.strip()
    if not value or len(value) > VALUE_LIMIT:
        raise BadRequest(f"A preference has 1 to {VALUE_LIMIT} characters.")
    if choices := CHOICES.get(name):
        if value.lower() not in choices:
            raise BadRequest(f"The {name.replace('_', ' ')} is one of {', '.join(choices)}.")
        return value.lower()
    match name:
        case "time_zone" if zone_of(value) is None:
            raise BadRequest("The time zone must be an IANA name, e.g. Europe/Oslo.")
        case "speech_speed":
            return _checked_speed(value)
        case "voice" | "responder" if not re.fullmatch(r"[\w .-]+", value):
            raise BadRequest("That does not look like the name of a voice or a provider.")
        case "name" | "default_location" | "language" if not re.fullmatch(r"[\w .,'’()-]+", value):
            raise BadRequest("That does not look like a name of a person, place or language.")
    return value


def _checked_speed(value: str) -> str:
    try:
        speed = float(value)
    except ValueError:
        speed = 0.0
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise BadRequest(f"The speed of speech is a number from {SPEEDS[0]} to {SPEEDS[1]}; 1 is usual.")
    return f"{speed:g}"


def instruction_id(text: str) -> str:
    """Return a short id of an instruction, always the same for the same text."""
    return f"ins_{hashlib.sha256(_normal(text).encode()).hexdigest()[:8]}"


def checked_ticker(symbol: str) -> str:
    """Return a share's symbol in capitals. Raises `BadRequest`."""
    symbol = symbol.strip().upper()
    if not re.fullmatch(r"[A-Z]{1,6}(\.[A-Z]{1,3})?", symbol):
        raise BadRequest("A ticker is a short symbol, e.g. AAPL. Look it up with get_stock_price first.")
    return symbol
