"""Answers served again: `cache:{domain}:{hash}` in memory, and one computation for everybody who asks at once.

The key covers the normalised question and everything personal that went into the answer. An answer into which
anything personal went is kept in its user's own scope, so that nobody else can ever be served it; a caller we do
not know gets no such entry at all.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import time
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from backend.agent.context import Exchange, Note, Situation
from backend.errors import MemoryUnavailable
from backend.observability.tracing import current_span
from backend.storage.memory import Memory
from backend.thinkers.base import Answer, Manifest, Question, ThinkerProgress

log = logging.getLogger(__name__)

CACHE_WITHIN_S = 0.2
"""How long the cache may take; a slow one is no cache."""
SHARED = "shared"

OnProgress = Callable[[ThinkerProgress], None]
Compute = Callable[[OnProgress], Awaitable[tuple[Answer, bool]]]
"""Works the answer out, and says whether it may be kept."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an answer is kept: whose it is, and under what name."""

    scope: str
    key: str


def slot_for(manifest: Manifest, question: Question, situation: Situation, day: str) -> Slot | None:
    """The slot of a question; None when its answer is not to be kept. `day` is today, as 'tomorrow' shifts with it."""
    if not manifest.cache_ttl_s:
        return None
    given: list[Note | Exchange] = [*situation.notes, *situation.exchanges]
    own = [each for each in given if each.personal]
    personal = [
        situation.profile.stored(),
        list(situation.history),
        [_material(each) for each in own],
    ]
    shared = manifest.cache_scope == "shared" and not any(personal)
    if not shared and not question.user_id:
        return None
    scope = SHARED if shared else question.user_id
    material = [
        normalised(question.query),
        question.source_mode,
        question.mode,
        day,
        personal,
        [_material(each) for each in given],
    ]
    digest = hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()
    return Slot(scope, f"{manifest.domain}:{digest[:32]}")


def _material(given: Note | Exchange) -> list[Any]:
    """What of it decides the answer."""
    if isinstance(given, Note):
        return [given.title, given.data]
    return [given.tool, dict(given.arguments), dict(given.result)]


def normalised(query: str) -> str:
    """The question without what does not change it: letter case, spacing, a final stop, curly quotes.

    An exclamation mark stays, for it may be a factorial; so does a leading point, for it may be a decimal one.
    """
    text = unicodedata.normalize("NFKC", query).casefold().replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().rstrip(" .?")


@dataclass
class _Flight:
    """One computation and everybody who waits for it."""

    task: asyncio.Task[Answer]
    listeners: list[OnProgress] = field(default_factory=list)


class AnswerCache:
    """Looks answers up, and works out what is missing, once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._flights: dict[Slot, _Flight] = {}

    def __repr__(self) -> str:
        return f"AnswerCache({len(self._flights)} in flight)"

    async def serve(self, slot: Slot, ttl_s: int, compute: Compute, on_progress: OnProgress) -> Answer:
        """The kept answer, or the one now worked out. Raises what `compute` raises.

        Work goes on as long as anybody waits for it; when the last one is cancelled, so is the work.
        """
        began = time.perf_counter()
        if (kept := await self._kept(slot)) is not None:
            text, citations = kept
            current_span().note(cache="hit")
            on_progress(ThinkerProgress("found in the cache"))
            return Answer(text, "cache", citations, latency_ms=round((time.perf_counter() - began) * 1000))
        flight = self._flights.get(slot)
        current_span().note(cache="joined" if flight else "miss")
        if flight is None:
            flight = self._take_off(slot, ttl_s, compute)
        flight.listeners.append(on_progress)
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.listeners.remove(on_progress)
            if not flight.listeners and not flight.task.done():
                self._flights.pop(slot, None)
                flight.task.cancel()
                await asyncio.wait({flight.task})

    def _take_off(self, slot: Slot, ttl_s: int, compute: Compute) -> _Flight:
        listeners: list[OnProgress] = []

        def tell_all(progress: ThinkerProgress) -> None:
            for listener in listeners:
                listener(progress)

        flight = _Flight(asyncio.create_task(self._work_out(slot, ttl_s, compute, tell_all)), listeners)
        self._flights[slot] = flight
        flight.task.add_done_callback(lambda _: self._landed(slot, flight))
        return flight

    def _landed(self, slot: Slot, flight: _Flight) -> None:
        if self._flights.get(slot) is flight:
            del self._flights[slot]
        if not flight.task.cancelled():
            flight.task.exception()  # looked at: those who waited may all be gone

    async def _work_out(self, slot: Slot, ttl_s: int, compute: Compute, on_progress: OnProgress) -> Answer:
        answer, keep = await compute(on_progress)
        if keep:
            await self._keep(slot, ttl_s, answer)
        return answer

    async def _kept(self, slot: Slot) -> tuple[str, tuple[str, ...]] | None:
        try:
            async with asyncio.timeout(CACHE_WITHIN_S):
                stored = await self._memory.cache_get(slot.scope, slot.key)
        except (MemoryUnavailable, TimeoutError):
            return None
        if stored is None:
            return None
        try:
            text, citations = json.loads(stored)
            return str(text), tuple(map(str, citations))
        except (ValueError, TypeError):
            log.warning("a cached answer cannot be read; working it out again")
            return None

    async def _keep(self, slot: Slot, ttl_s: int, answer: Answer) -> None:
        value = json.dumps([answer.text, list(answer.citations)], ensure_ascii=False)
        try:
            async with asyncio.timeout(CACHE_WITHIN_S):
                await self._memory.cache_put(slot.scope, slot.key, value, ttl_s)
        except (MemoryUnavailable, TimeoutError):
            log.warning("an answer could not be cached: memory does not answer")
