"""The answer cache: `cache:{domain}:{hash}` in memory, and one computation for everybody who asks at once.

The key covers the normalised question and everything personal that went into the answer. An answer into which
anything personal went is kept in its user's own scope, so that nobody else can ever be served it; a caller we do
not know gets no such entry at all.
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

from backend.access.reach import Reach
from backend.agent.context import Exchange, Note, Situation
from backend.observability.tracing import current_span
from backend.runtime.faults import decode_or_skip
from backend.storage.memory import Memory, briefly
from backend.thinkers.base import Answer, Manifest, OnProgress, Question, ThinkerProgress

CACHE_WITHIN_S = 0.2
"""Seconds the cache may take; a slower one is passed over."""
SHARED = "shared"

Compute = Callable[[OnProgress], Awaitable[tuple[Answer, bool]]]
"""Finds the answer, and says whether it may be kept."""


class _StoredAnswer(msgspec.Struct, frozen=True, array_like=True):
    text: str
    citations: tuple[str, ...]
    interruptible: bool = True
    untrusted: bool = False


_stored_decoder = msgspec.json.Decoder(_StoredAnswer)


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a kept answer: its owner and its key."""

    scope: str
    key: str


def slot_for(manifest: Manifest, question: Question, situation: Situation, day: str) -> Slot | None:
    """Return the slot of a question; None: its answer is not kept. `day` is today: 'tomorrow' shifts with it."""
    findings: list[Note | Exchange] = [*situation.notes, *situation.exchanges]
    own = [finding for finding in findings if finding.personal]
    personal = [situation.profile.stored(), list(situation.history), [_material(finding) for finding in own]]
    shared = manifest.cache_scope == "shared" and not any(personal)
    if not shared and not question.user_id:
        return None
    scope = SHARED if shared else question.user_id
    material = [
        normalised(question.query),
        question.source_mode,
        question.mode,
        _reached(question.rights.reach),
        day,
        personal,
        [_material(finding) for finding in findings],
    ]
    digest = hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()
    return Slot(scope, f"{manifest.domain}:{digest[:32]}")


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
    """One computation, and the callbacks of everybody who waits for it."""

    task: asyncio.Task[Answer]
    listeners: list[OnProgress] = field(default_factory=list)


class AnswerCache:
    """Looks answers up, and has a missing one computed once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._running: dict[Slot, _Computation] = {}

    def __repr__(self) -> str:
        return f"AnswerCache({len(self._running)} computations)"

    async def serve(self, slot: Slot, ttl_s: int, compute: Compute, on_progress: OnProgress) -> Answer:
        """Return the kept answer, or the one now computed. Raises what `compute` raises.

        The computation goes on as long as anybody waits for it; when the last one is cancelled, so is it.
        """
        began = time.perf_counter()
        if (cached := await self._cached(slot)) is not None:
            current_span().note(cache="hit")
            on_progress(ThinkerProgress("found in the cache"))
            return replace(cached, latency_ms=round((time.perf_counter() - began) * 1000))
        running = self._running.get(slot)
        current_span().note(cache="joined" if running else "miss")
        if running is None:
            running = self._begin(slot, ttl_s, compute)
        running.listeners.append(on_progress)
        try:
            return await asyncio.shield(running.task)
        finally:
            running.listeners.remove(on_progress)
            if not running.listeners and not running.task.done():
                self._running.pop(slot, None)
                running.task.cancel()
                await asyncio.wait({running.task})

    def _begin(self, slot: Slot, ttl_s: int, compute: Compute) -> _Computation:
        listeners: list[OnProgress] = []

        def show_all(progress: ThinkerProgress) -> None:
            for listener in listeners:
                listener(progress)

        async def work() -> Answer:
            answer, keep = await compute(show_all)
            if keep:
                stored = _StoredAnswer(answer.text, answer.citations, answer.interruptible, answer.untrusted)
                value = msgspec.json.encode(stored).decode()
                storing = self._memory.cache_put(slot.scope, slot.key, value, ttl_s)
                await briefly(storing, None, within_s=CACHE_WITHIN_S, warning="an answer could not be cached")
            return answer

        running = self._running[slot] = _Computation(asyncio.create_task(work()), listeners)
        running.task.add_done_callback(lambda _: self._on_end(slot, running))
        return running

    def _on_end(self, slot: Slot, running: _Computation) -> None:
        if self._running.get(slot) is running:
            del self._running[slot]
        if not running.task.cancelled():
            running.task.exception()  # retrieved: everybody who waited may be gone

    async def _cached(self, slot: Slot) -> Answer | None:
        loading = self._memory.cache_get(slot.scope, slot.key)
        stored = await briefly(loading, None, within_s=CACHE_WITHIN_S)
        if stored is None or (found := decode_or_skip("cached answer", stored, _stored_decoder.decode)) is None:
            return None
        return Answer(
            found.text, "cache", found.citations, interruptible=found.interruptible, untrusted=found.untrusted
        )
