"""The answer cache: `cache:{domain}:{hash}` in memory.

The key covers the normalised question and all that makes its answers differ: the user's date, unit and language, and
everything personal that the Thinker sees. An answer is kept for all users unless something personal went into it: data
that the Thinker saw, or that a tool read from the profile, such as the home of a user who named no place. A personal
answer is kept in its user's own scope and never served to another; an unknown caller gets no such entry.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
import unicodedata
from dataclasses import dataclass, replace

import msgspec
from prometheus_client import CollectorRegistry, Counter

from backend.access.principal import CallerScope
from backend.agent.context import Exchange, Note, Situation
from backend.observability.tracing import current_span
from backend.runtime.faults import decode_or_skip
from backend.storage.memory import Memory, briefly
from backend.thinkers.base import Answer, Manifest, Question

CACHE_WITHIN_S = 0.2
"""Seconds the cache may take; a slower one is skipped, and the answer is thought out."""
SHARED = "shared"
OUTCOMES = ("hit", "miss", "skipped")
SHAREABLE = ("temperature_unit", "language")
"""Preferences that change answers without making them personal."""

_answer_decoder = msgspec.json.Decoder(Answer)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The key of a question's answer, and its scopes: all users, or the asking user alone."""

    key: str
    user_id: str
    is_shared: bool

    @property
    def scopes(self) -> list[str]:
        """The scopes in which an answer may be found."""
        return [scope for scope in (self.user_id, SHARED if self.is_shared else "") if scope]

    def scope_of(self, *, personal: bool) -> str:
        """Return the scope of an answer; empty: it is not kept."""
        return SHARED if self.is_shared and not personal else self.user_id


def key_of(manifest: Manifest, question: Question, situation: Situation, day: str) -> CacheKey | None:
    """Return the key of a question's answer; None: it is not kept. `day` is the user's date.

    If the answer may depend on the time of day, users of the same time zone share it, otherwise all on that date.
    """
    findings: list[Note | Exchange] = [*situation.notes, *situation.exchanges]
    own = [_material(finding) for finding in findings if finding.personal]
    known = situation.profile.stored()
    preferences = situation.profile.preferences.of_user()
    shareable = [preferences.pop(name, "") for name in SHAREABLE]
    zone = preferences.pop("time_zone", "")
    shareable.append("" if manifest.cache_scope == "date" else zone)
    known.pop("preferences", None)
    personal = [preferences, known, list(situation.history), own]
    material = [
        normalised(question.query),
        manifest.prompt,
        question.source_mode,
        question.mode,
        _key_parts(question.rights.caller_scope),
        day,
        shareable,
        personal,
        [_material(finding) for finding in findings],
    ]
    digest = hashlib.sha256(json.dumps(material, sort_keys=True, default=str).encode()).hexdigest()
    is_shared = manifest.cache_scope != "user" and not any(personal)
    if not is_shared and not question.user_id:
        return None
    return CacheKey(f"{manifest.domain}:{digest[:32]}", question.user_id, is_shared)


def _key_parts(caller_scope: CallerScope) -> list[object]:
    """Return the cache key's parts for a scope: who may not look something up is not served it."""
    return [caller_scope.scope, None if caller_scope.tools is None else sorted(caller_scope.tools)]


def _material(finding: Note | Exchange) -> list[object]:
    if isinstance(finding, Note):
        return [finding.title, finding.data]
    return [finding.tool, dict(finding.arguments), dict(finding.result)]


def normalised(query: str) -> str:
    """Return the question without irrelevant differences: letter case, spacing, a final stop, curly quotes.

    An exclamation mark stays, since it may be a factorial, and a leading point, since it may be a decimal point.
    """
    text = unicodedata.normalize("NFKC", query).casefold().replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().rstrip(" .?")


class AnswerCache:
    """Looks answers up, and keeps new ones."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._served = Counter(
            "voice_answer_cache", "Answers asked of the cache, by outcome.", ["outcome"], registry=None
        )
        for outcome in OUTCOMES:
            self._served.labels(outcome)

    def register_in(self, registry: CollectorRegistry) -> None:
        """Show the outcomes in `registry`, and so in `/metrics`."""
        registry.register(self._served)

    async def find(self, key: CacheKey) -> Answer | None:
        """Return the answer kept for the user, or the one kept for all users."""
        began = time.perf_counter()
        loading = asyncio.gather(*(self._memory.cache_get(scope, key.key) for scope in key.scopes))
        kept = await briefly(loading, None, within_s=CACHE_WITHIN_S, warning="the answer cache is skipped")
        decoded = (decode_or_skip("cached answer", each, _answer_decoder.decode) for each in filter(None, kept or []))
        found = next(filter(None, decoded), None)
        outcome = "hit" if found else "skipped" if kept is None else "miss"
        current_span().note(cache=outcome)
        self._served.labels(outcome).inc()
        if found is None:
            return None
        latency_ms = round((time.perf_counter() - began) * 1000)
        return replace(found, source="cache", tool_calls=0, tokens=0, latency_ms=latency_ms)

    async def keep(self, key: CacheKey, answer: Answer, ttl_s: int, *, personal: bool) -> None:
        """Keep an answer; a `personal` one for its user alone."""
        if scope := key.scope_of(personal=personal):
            storing = self._memory.cache_put(scope, key.key, msgspec.json.encode(answer).decode(), ttl_s)
            await briefly(storing, None, within_s=CACHE_WITHIN_S, warning="an answer could not be cached")
