"""The answer cache: `cache:{domain}:{hash}` in memory, and one computation for all who ask at the same time.

The key covers the normalised question and what parts its answers: the user's date, their unit and language, and
everything personal the Thinker is shown. An answer is kept for everybody unless anything personal went into it: what
was shown, or what a tool asked of the profile, such as the home of a user who named no place. That one is kept in its
user's own scope and never served to another; an unknown caller gets no such entry.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import msgspec
from prometheus_client import CollectorRegistry, Counter

from backend.access.principal import Reach
from backend.agent.context import Exchange, Note, Situation
from backend.observability.tracing import current_span
from backend.runtime.faults import decode_or_skip
from backend.storage.memory import Memory, briefly
from backend.thinkers.base import Answer, Manifest, OnProgress, Question, ThinkerProgress

CACHE_WITHIN_S = 0.2
"""Seconds the cache may take; a slower one is passed over."""
SHARED = "shared"

OUTCOMES = ("hit", "joined", "miss")
"""Kept, being computed for somebody else, or neither."""
SHAREABLE = ("temperature_unit", "language")
"""Preferences that part answers without making them personal."""
_OF_TIME = re.compile(
    r"\b(?:time|clock|hours?|minutes?|now|currently|tonight|morning|noon|afternoon|evening|night|midnight|early|late|"
    r"soon|until|till|since|ago|open|closed|awake)\b",
    re.IGNORECASE,
)
"""Words by which an answer may depend on the time of day."""


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer that was just found."""

    answer: Answer
    keep: bool
    """Whether it may be served again."""
    personal: bool = False
    """Whether a tool was asked what is known of the user: then it may be served to that user alone."""


Compute = Callable[[OnProgress], Awaitable[Computed]]


_answer_decoder = msgspec.json.Decoder(Answer)


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a kept answer: its owner and its key."""

    scope: str
    key: str


@dataclass(frozen=True, slots=True)
class Slots:
    """The places where a question's answer may be kept, at least one: for everybody, for its user; None: it may not."""

    shared: Slot | None
    own: Slot | None

    @property
    def widest(self) -> Slot:
        """The slot by which those who ask the same at the same time find each other."""
        slot = self.shared or self.own
        assert slot is not None
        return slot

    def place_of(self, computed: Computed) -> Slot | None:
        """Return the slot that an answer belongs to."""
        if not computed.keep:
            return None
        return self.own if computed.personal else self.widest


def slots_for(manifest: Manifest, question: Question, situation: Situation, day: str) -> Slots | None:
    """Return the slots of a question's answer; None: it is not kept. `day` is the user's date, as in 'tomorrow'.

    The user's time zone counts as personal where the answer may rest on the time of day; else the date says it all.
    """
    findings: list[Note | Exchange] = [*situation.notes, *situation.exchanges]
    own = [_material(finding) for finding in findings if finding.personal]
    known = situation.profile.stored()
    preferences = situation.profile.preferences.of_user()
    shareable = [preferences.pop(name, "") for name in SHAREABLE]
    if not rests_on_time(manifest, question):
        preferences.pop("time_zone", None)
    known.pop("preferences", None)
    personal = [preferences, known, list(situation.history), own]
    material = [
        normalised(question.query),
        manifest.prompt,
        question.source_mode,
        question.mode,
        _reached(question.rights.reach),
        day,
        shareable,
        personal,
        [_material(finding) for finding in findings],
    ]
    digest = hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()
    key = f"{manifest.domain}:{digest[:32]}"
    is_shared = manifest.cache_scope != "user" and not any(personal)
    if not is_shared and not question.user_id:
        return None
    return Slots(Slot(SHARED, key) if is_shared else None, Slot(question.user_id, key) if question.user_id else None)


def rests_on_time(manifest: Manifest, question: Question) -> bool:
    """Return whether the answer may depend on the user's time of day, and not on their date alone."""
    scope = manifest.cache_scope
    return scope in ("user", "time") or (scope == "asked" and bool(_OF_TIME.search(question.query)))


def _reached(reach: Reach) -> list[object]:
    """Return what tells apart callers who reach different tools: who may not look something up is not served it."""
    return [reach.tier, None if reach.tools is None else sorted(reach.tools)]


def _material(finding: Note | Exchange) -> list[object]:
    if isinstance(finding, Note):
        return [finding.title, finding.data]
    return [finding.tool, dict(finding.arguments), dict(finding.result)]


def normalised(query: str) -> str:
    """Return the question without what does not change it: letter case, spacing, a final stop, curly quotes.

    An exclamation mark stays, for it may be a factorial; so does a leading point, for it may be a decimal one.
    """
    text = unicodedata.normalize("NFKC", query).casefold().replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().rstrip(" .?")


@dataclass
class _Computation:
    """One computation, its slots, and the callbacks of everybody who waits for it."""

    slots: Slots
    task: asyncio.Task[Computed]
    listeners: list[OnProgress] = field(default_factory=list)


class AnswerCache:
    """Looks answers up, and has a missing one computed once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._running: dict[Slot, _Computation] = {}
        self._served = Counter(
            "voice_answer_cache", "Answers asked of the cache, by outcome.", ["outcome"], registry=None
        )
        for outcome in OUTCOMES:
            self._served.labels(outcome)

    def __repr__(self) -> str:
        return f"AnswerCache({len(self._running)} computations)"

    def show_in(self, registry: CollectorRegistry) -> None:
        """Show the hits and misses in `registry`, and so in `/metrics`."""
        registry.register(self._served)

    async def serve(self, slots: Slots, ttl_s: int, compute: Compute, on_progress: OnProgress) -> Answer:
        """Return the kept answer, or the one now computed. Raises what `compute` raises.

        Who asks the same at the same time waits for one computation, unless it turns out to be personal to another
        user. It goes on as long as anybody waits for it; when the last one is cancelled, so is it.
        """
        began = time.perf_counter()
        if (cached := await self._cached(slots)) is not None:
            self._note("hit")
            on_progress(ThinkerProgress("found in the cache"))
            return replace(cached, latency_ms=round((time.perf_counter() - began) * 1000))
        running = self._running.get(slots.widest)
        self._note("joined" if running else "miss")
        if running is None:
            running = self._begin(slots, ttl_s, compute)
        computed = await self._wait(running, on_progress)
        if not computed.personal or running.slots.own == slots.own:
            return computed.answer
        if slots.own is None:
            return (await compute(on_progress)).answer
        return await self.serve(Slots(None, slots.own), ttl_s, compute, on_progress)

    async def _wait(self, running: _Computation, on_progress: OnProgress) -> Computed:
        running.listeners.append(on_progress)
        try:
            return await asyncio.shield(running.task)
        finally:
            running.listeners.remove(on_progress)
            if not running.listeners and not running.task.done():
                self._forget(running)
                running.task.cancel()
                await asyncio.wait({running.task})

    def _begin(self, slots: Slots, ttl_s: int, compute: Compute) -> _Computation:
        listeners: list[OnProgress] = []

        def show_all(progress: ThinkerProgress) -> None:
            for listener in listeners:
                listener(progress)

        async def work() -> Computed:
            computed = await compute(show_all)
            if slot := slots.place_of(computed):
                await self._keep(slot, computed.answer, ttl_s)
            return computed

        running = self._running[slots.widest] = _Computation(slots, asyncio.create_task(work()), listeners)
        running.task.add_done_callback(lambda _: self._on_end(running))
        return running

    async def _keep(self, slot: Slot, answer: Answer, ttl_s: int) -> None:
        storing = self._memory.cache_put(slot.scope, slot.key, msgspec.json.encode(answer).decode(), ttl_s)
        await briefly(storing, None, within_s=CACHE_WITHIN_S, warning="an answer could not be cached")

    def _forget(self, running: _Computation) -> None:
        if self._running.get(running.slots.widest) is running:
            del self._running[running.slots.widest]

    def _on_end(self, running: _Computation) -> None:
        self._forget(running)
        if not running.task.cancelled():
            running.task.exception()  # retrieved: everybody who waited may be gone

    def _note(self, outcome: str) -> None:
        current_span().note(cache=outcome)
        self._served.labels(outcome).inc()

    async def _cached(self, slots: Slots) -> Answer | None:
        """Return the answer kept for the user, or the one kept for everybody."""
        places = [slot for slot in (slots.own, slots.shared) if slot]
        loading = asyncio.gather(*(self._memory.cache_get(slot.scope, slot.key) for slot in places))
        for stored in await briefly(loading, [], within_s=CACHE_WITHIN_S):
            if stored and (found := decode_or_skip("cached answer", stored, _answer_decoder.decode)):
                return replace(found, source="cache", tool_calls=0, tokens=0)
        return None
