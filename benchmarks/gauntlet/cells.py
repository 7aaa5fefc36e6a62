"""One call of the gauntlet: its caller's actions, and the judgement."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.testing.calls import PlacedCall
from backend.testing.peer import RestartablePeer
from backend.testing.speech import silence, speech
from backend.testing.waiting import until
from benchmarks.gauntlet.ears import ToneWatch, longest_silence_s, seconds_heard, times_heard
from responder_thinker.caller import ReceivedFrame

QUESTION = "is it sunny"
APOLOGY = "Sorry, something went wrong. Could you say that again?"
SILENCE_MOST_S = 4.0
BACK_WITHIN_S = 2.0
SETTLED_S = 1.5
"""Seconds of quiet after which nothing more is expected."""
WITHIN_S = 30.0


@dataclass
class GauntletCall:
    """A placed call with its caller's actions, and the spans in which an answer was owed."""

    call: PlacedCall
    peer: RestartablePeer
    away_s: float
    """Seconds for which the provider is away or mute, in happenings that need it."""
    owed: list[tuple[float, float]] = field(default_factory=list)
    back_s: float | None = None
    """Seconds from the provider's return until the connection stood."""
    _began: float = 0.0
    _asked: float = 0.0
    _apologies: int = 0

    async def ask(self) -> None:
        """Ask; from the end of the question on an answer is owed."""
        self._began = _now()
        await self.call.say(silence(100) + speech(QUESTION))
        self._asked = _now()

    async def hears(self, hz: int, within_s: float = WITHIN_S) -> None:
        """Wait for an answer that was not heard before the question; nothing is owed until the next."""
        watch = ToneWatch(self.call.caller.received.frames, hz, self._began)
        try:
            await until(watch.look, within_s)
        finally:
            self.owed.append((self._asked, max(self._asked, watch.began or _now())))

    async def hears_apology(self, within_s: float = WITHIN_S) -> None:
        """Wait until the caller is asked to repeat."""
        self._apologies += 1
        wanted = self._apologies
        try:
            await until(lambda: self.apologies >= wanted, within_s)
            begun = _now()
            await until(lambda: (self.call.caller.received.last_audible_at or 0.0) > begun, within_s)
        finally:
            self.owed.append((self._asked, _now()))
        await self.call.hears_nothing_for(0.5)

    async def is_heard(self) -> None:
        """Wait until the provider has sent the words of the question, or the message that there are none."""
        await self.call.event("transcript", WITHIN_S, role="user")

    async def outage(self) -> None:
        """Keep the provider away for the set time, from now on; returns when it is back and connected."""
        self.peer.kill()
        await asyncio.sleep(self.away_s)
        await self.comes_back()

    async def comes_back(self) -> None:
        """Let the provider come back, and wait for the connection."""
        await self.peer.start()
        back = _now()
        await until(lambda: self.call.events_of("responder_changed")[-1]["state"] == "connected", WITHIN_S)
        self.back_s = _now() - back

    @property
    def apologies(self) -> int:
        """How often the caller was asked to repeat."""
        return [event["content"] for event in self.call.events_of("transcript")].count(APOLOGY)


Drive = Callable[[GauntletCall], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Happening:
    """One happening: the failure, the caller's actions meanwhile, and the sounds that must be heard."""

    name: str
    script: Mapping[str, Any]
    """The script of the call's connection: see docs/offline.md."""
    drive: Drive
    answers: Mapping[int, int]
    """The pitches to be heard exactly once each, in Hz, and for how many milliseconds at most."""
    also: tuple[int, ...] = ()
    """The pitches to be heard at least once."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Why it cannot happen, by the protocol with which it cannot."""
    alone: bool = False
    """It affects the provider as a whole, and every call with it."""
    away_s: float = 0.0
    short_s: float = 0.0
    """The same in the short form; 0: the short form leaves it out, if it is a happening of its own."""
    mute: bool = False
    """The provider says nothing for that time, and stays connected."""

    def seconds(self, *, short: bool) -> float:
        """Return how long the provider is away or mute."""
        return self.short_s if short and self.short_s else self.away_s

    def behaviour(self, *, short: bool) -> dict[str, Any]:
        """Return the script of the call's connection."""
        return {**self.script, **({"mute_ms": round(self.seconds(short=short) * 1000)} if self.mute else {})}


@dataclass(frozen=True, slots=True)
class Cell:
    """The sounds of one call."""

    provider: str
    happening: str
    silence_s: float = 0.0
    lost: int = 0
    doubled: int = 0
    apologies: int = 0
    back_s: float | None = None
    cannot: str = ""
    trouble: str = ""
    events: tuple[str, ...] = ()
    """The page's events, a line each."""

    @property
    def is_right(self) -> bool:
        """Whether everything was as required."""
        back = self.back_s is None or self.back_s <= BACK_WITHIN_S
        return self.silence_s <= SILENCE_MOST_S and not (self.lost or self.doubled or self.trouble) and back


async def run_cell(provider: str, happening: Happening, line: GauntletCall) -> Cell:
    """Drive one call, and judge it."""
    trouble = ""
    try:
        await happening.drive(line)
        await line.call.hears_nothing_for(SETTLED_S)
    except AssertionError as error:
        trouble = str(error).splitlines()[0]
    frames = list(line.call.caller.received.frames)
    times = {hz: len(times_heard(frames, hz)) for hz in (*happening.answers, *happening.also)}
    if line.call.events_of("session_ended"):
        trouble = f"{trouble} the call ended".strip()
    return Cell(
        provider,
        happening.name,
        max((longest_silence_s(frames, *owed) for owed in line.owed), default=0.0),
        sum(not count for count in times.values()),
        sum(_too_often(frames, hz, ms) for hz, ms in happening.answers.items()),
        line.apologies,
        line.back_s,
        trouble=trouble,
        events=_events(line.call),
    )


def _too_often(frames: list[ReceivedFrame], hz: int, ms: int) -> int:
    """Return how many times more than once a tone of that length was heard, with a pause between or without."""
    return max(len(times_heard(frames, hz)), round(1000 * seconds_heard(frames, hz) / ms), 1) - 1


def _events(call: PlacedCall) -> tuple[str, ...]:
    began = call.arrivals[0] if call.arrivals else 0.0
    lines = zip(call.arrivals, call.events, strict=False)
    return tuple(f"{at - began:6.2f} {event.type} {str(event.data)[:200]}" for at, event in lines)


def _now() -> float:
    return asyncio.get_running_loop().time()
