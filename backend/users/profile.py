"""What is known of a user: a typed context, and the updates that change it. Pure, but for `update_user` at the end.

    context + update → context

The context is kept as JSON at `user:{id}:context`: preferences (overwritten), at most 20 facts (deduplicated), at most
10 standing instructions (one more is refused), a rolling summary (merged), signals (counted). Reading is lenient, for
what is stored may be older than this code; making an update is strict, for what it holds will stand in prompts and
steer tools.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from backend.errors import BadRequest
from backend.storage.memory import Memory

PreferenceName = Literal["name", "default_location", "temperature_unit", "watched_tickers", "time_zone", "language"]
PREFERENCES: tuple[PreferenceName, ...] = get_args(PreferenceName)

VALUE_LIMIT = 100
"""Characters of a preference."""
WATCHED_LIMIT = 20
"""Shares a user can watch; the oldest falls off."""
FACT_LIMIT = 20
"""Facts kept of a user; the oldest falls off."""
FACT_CHARS = 200
SUMMARY_CHARS = 1_500
TOPIC_LIMIT = 50
"""Topics counted for a user; the rarest falls off."""
INSTRUCTION_LIMIT = 10
"""Standing instructions of a user. One more is refused: what somebody counts on must not fall off unsaid."""
INSTRUCTION_CHARS = 300

# --- the context ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signals:
    """What is counted rather than said. `last_active` is Unix time in seconds."""

    topics: Mapping[str, int] = field(default_factory=dict)
    last_active: float = 0.0
    session_count: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class UserContext:
    """Everything known of one user."""

    preferences: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    summary: str = ""
    signals: Signals = field(default_factory=Signals)
    mode: str = ""
    """The name of the mode the user has chosen; empty: none."""
    instructions: tuple[str, ...] = ()
    """How the user always wants to be answered, in their own words, oldest first."""

    def __repr__(self) -> str:  # without the user's words
        return f"UserContext({len(self.preferences)} preferences, {len(self.facts)} facts, {self.signals})"

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> UserContext:
        """The context in its stored form; whatever in it has another form counts as nothing."""
        preferences, facts, summary = stored.get("preferences"), stored.get("facts"), stored.get("summary")
        return cls(
            preferences=dict(preferences) if isinstance(preferences, Mapping) else {},
            facts=tuple(one for one in facts if isinstance(one, str)) if isinstance(facts, list) else (),
            summary=summary if isinstance(summary, str) else "",
            signals=_read_signals(stored.get("signals")),
            mode=mode if isinstance(mode := stored.get("mode"), str) else "",
            instructions=instructions_of(stored),
        )

    def stored(self) -> dict[str, Any]:
        """The JSON form; what is empty is left out."""
        signals = self.signals
        counted = {
            "topics": dict(signals.topics),
            "last_active": signals.last_active,
            "session_count": signals.session_count,
        }
        whole = {
            "preferences": dict(self.preferences),
            "facts": list(self.facts),
            "summary": self.summary,
            "signals": {name: value for name, value in counted.items() if value},
            "mode": self.mode,
            "instructions": list(self.instructions),
        }
        return {name: part for name, part in whole.items() if part}


def instructions_of(stored: Mapping[str, Any]) -> tuple[str, ...]:
    """The standing instructions of a context in its stored form."""
    kept = stored.get("instructions")
    texts = [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []
    return tuple(text[:INSTRUCTION_CHARS] for text in texts[:INSTRUCTION_LIMIT])


def _read_signals(stored: Any) -> Signals:
    if not isinstance(stored, Mapping):
        return Signals()
    topics, active, sessions = stored.get("topics"), stored.get("last_active"), stored.get("session_count")
    return Signals(
        topics={str(name): n for name, n in topics.items() if isinstance(n, int)}
        if isinstance(topics, Mapping)
        else {},
        last_active=float(active) if isinstance(active, int | float) else 0.0,
        session_count=sessions if isinstance(sessions, int) else 0,
    )


# --- the updates ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class SetPreference:
    """Overwrites one preference; the watched tickers as a whole. Raises `BadRequest` for what cannot be its value."""

    name: PreferenceName
    value: str | tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.value, str) != (self.name != "watched_tickers"):
            raise BadRequest("The watched tickers are a list of symbols; every other preference is one text.")
        if isinstance(self.value, str):
            checked: str | tuple[str, ...] = checked_value(self.name, self.value)
        else:
            checked = tuple(dict.fromkeys(checked_ticker(one) for one in self.value))[-WATCHED_LIMIT:]
        object.__setattr__(self, "value", checked)


@dataclass(frozen=True, slots=True, repr=False)
class AssumeTimeZone:
    """The zone a browser is in: stands until its user states one. Raises `BadRequest` for what is none."""

    zone: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", checked_value("time_zone", self.zone))


@dataclass(frozen=True, slots=True)
class DropPreference:
    """Forgets one preference."""

    name: PreferenceName


@dataclass(frozen=True, slots=True)
class WatchTicker:
    """Adds one share to those watched, or takes it away. Raises `BadRequest` for what is no symbol."""

    symbol: str
    watched: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbol", checked_ticker(self.symbol))


@dataclass(frozen=True, slots=True, repr=False)
class AddFact:
    """Something worth knowing of the user, in a few words. Said again, it only becomes the newest."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class DropFact:
    """Forgets one fact, as it is kept, or as it was said."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class WriteSummary:
    """The summary in the user's own words, whatever stood there; empty: forgotten."""

    text: str


@dataclass(frozen=True, slots=True, repr=False)
class MergeSummary:
    """`text` tells anew what `over` told, and what has happened since.

    Where the stored summary is no longer `over`, another call has merged its own meanwhile: then both are kept, and
    the next merge makes one of them.
    """

    text: str
    over: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class AddInstruction:
    """How the user wants to be answered from now on. Said again, it stays where it is.

    Raises `BadRequest` for a text that is none, here, and when there is no room for it, as it is applied.
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checked_instruction(self.text))


@dataclass(frozen=True, slots=True, repr=False)
class DropInstruction:
    """Drops one, as it is kept, or as it was said."""

    text: str


@dataclass(frozen=True, slots=True)
class SetMode:
    """The user has chosen this mode; whoever makes it has looked that there is one."""

    name: str


@dataclass(frozen=True, slots=True)
class CountTopic:
    """The user has asked about `domain`, at Unix time `at`."""

    domain: str
    at: float


@dataclass(frozen=True, slots=True)
class CountSession:
    """A session of the user's has ended, at Unix time `at`."""

    at: float


ContextUpdate = (
    SetPreference
    | AssumeTimeZone
    | DropPreference
    | WatchTicker
    | AddFact
    | DropFact
    | WriteSummary
    | MergeSummary
    | AddInstruction
    | DropInstruction
    | SetMode
    | CountTopic
    | CountSession
)


def apply(context: UserContext, update: ContextUpdate) -> UserContext:
    """The context after one update. Raises `BadRequest` for an instruction there is no room for."""
    match update:
        case SetPreference(name, value):
            kept = list(value) if isinstance(value, tuple) else value
            return replace(context, preferences={**context.preferences, name: kept})
        case AssumeTimeZone(zone):
            return replace(context, preferences={"time_zone": zone, **context.preferences})
        case DropPreference(name):
            kept_ones = {other: value for other, value in context.preferences.items() if other != name}
            return replace(context, preferences=kept_ones)
        case WatchTicker(symbol, watched):
            return _watching(context, symbol, watched=watched)
        case AddFact(text):
            return replace(context, facts=_with_fact(context.facts, text))
        case DropFact(text):
            return replace(context, facts=tuple(one for one in context.facts if _normal(one) != _normal(text)))
        case WriteSummary(text):
            return replace(context, summary=shortened(text, SUMMARY_CHARS))
        case MergeSummary(text, over):
            return replace(context, summary=_merged(context.summary, over, text))
        case SetMode(name):
            return replace(context, mode=name)
        case AddInstruction(text):
            return replace(context, instructions=_with_instruction(context.instructions, text))
        case DropInstruction(text):
            others = tuple(one for one in context.instructions if _normal(one) != _normal(text))
            return replace(context, instructions=others)
        case CountTopic(domain, at):
            topics = _counted(context.signals.topics, domain)
            return replace(context, signals=replace(_active(context.signals, at), topics=topics))
        case CountSession(at):
            signals = replace(_active(context.signals, at), session_count=context.signals.session_count + 1)
            return replace(context, signals=signals)


async def update_user(memory: Memory, user_id: str, *updates: ContextUpdate) -> UserContext:
    """Apply `updates` in order, atomically, to what memory has. Raises `MemoryUnavailable`, or what `apply` does."""

    def change(stored: dict[str, Any]) -> dict[str, Any]:
        context = UserContext.read(stored)
        for update in updates:
            context = apply(context, update)
        return context.stored()

    return UserContext.read(await memory.update_user_context(user_id, change))


# --- how each part changes ------------------------------------------------------------------------------


def _watching(context: UserContext, symbol: str, *, watched: bool) -> UserContext:
    known = context.preferences.get("watched_tickers")
    others = [one for one in known if one != symbol] if isinstance(known, list) else []
    tickers = [*others, symbol][-WATCHED_LIMIT:] if watched else others
    return replace(context, preferences={**context.preferences, "watched_tickers": tickers})


def _with_fact(facts: tuple[str, ...], text: str) -> tuple[str, ...]:
    fact = shortened(text, FACT_CHARS)
    if not fact:
        return facts
    others = tuple(one for one in facts if _normal(one) != _normal(fact))
    return (*others, fact)[-FACT_LIMIT:]


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
    if not new or not stored or stored == over:
        return new or stored
    if new in stored:
        return stored
    older = shortened(stored, max(0, SUMMARY_CHARS - len(new) - 1))
    return f"{older} {new}".strip()


def _counted(topics: Mapping[str, int], domain: str) -> Mapping[str, int]:
    counts = {**topics, domain: topics.get(domain, 0) + 1}
    while len(counts) > TOPIC_LIMIT:
        del counts[min((one for one in counts if one != domain), key=counts.__getitem__)]
    return counts


def _active(signals: Signals, at: float) -> Signals:
    return replace(signals, last_active=max(signals.last_active, at))


def _normal(fact: str) -> str:
    return re.sub(r"[\W_]+", " ", fact.casefold()).strip()


def shortened(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut after a sentence where there is one, else after a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[:limit]
    sentence = max(cut.rfind(stop) for stop in (". ", "! ", "? "))
    return cut[: sentence + 1] if sentence > limit // 2 else cut.rpartition(" ")[0]


# --- what a preference may be ---------------------------------------------------------------------------


def preference_name(name: str) -> PreferenceName:
    """`name` if there is such a preference. Raises `BadRequest`."""
    if name not in PREFERENCES:
        raise BadRequest(f"There is no such preference. It is one of: {', '.join(PREFERENCES)}.")
    return name


def checked_value(name: PreferenceName, value: str) -> str:
    """`value` in the form it is kept in. Raises `BadRequest`."""
    value = value.strip()
    if not value or len(value) > VALUE_LIMIT:
        raise BadRequest(f"A preference has 1 to {VALUE_LIMIT} characters.")
    match name:
        case "temperature_unit" if value.lower() not in ("celsius", "fahrenheit"):
            raise BadRequest("The temperature unit is either celsius or fahrenheit.")
        case "temperature_unit":
            return value.lower()
        case "time_zone" if not _is_zone(value):
            raise BadRequest("The time zone must be an IANA name, e.g. Europe/Oslo.")
        case "name" | "default_location" | "language" if not re.fullmatch(r"[\w .,'’()-]+", value):
            raise BadRequest("That does not look like a name of a person, place or language.")
    return value


def checked_instruction(text: str) -> str:
    """A standing instruction in the form it is kept in: one line. Raises `BadRequest`."""
    line = " ".join(text.split())
    if not _normal(line) or len(line) > INSTRUCTION_CHARS:
        raise BadRequest(f"A standing instruction has 1 to {INSTRUCTION_CHARS} characters, in words.")
    return line


def instruction_id(text: str) -> str:
    """A short name for an instruction, the same wherever and whenever it is asked for."""
    return f"ins_{hashlib.sha256(_normal(text).encode()).hexdigest()[:8]}"


def checked_ticker(symbol: str) -> str:
    """A share's symbol in capitals. Raises `BadRequest`."""
    symbol = symbol.strip().upper()
    if not re.fullmatch(r"[A-Z]{1,6}(\.[A-Z]{1,3})?", symbol):
        raise BadRequest("A ticker is a short symbol, e.g. AAPL. Look it up with get_stock_price first.")
    return symbol


def _is_zone(value: str) -> bool:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
