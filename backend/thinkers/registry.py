"""All Thinkers there are: found by walking the package, asked through one door.

Everything that speaks of domains derives from the manifests found here: the routing tool's enum, the guide in the
Responder's prompt, the page's labels.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from backend.agent.context import local_day
from backend.errors import BadPlugin, BadRequest, NoAnswer, TookTooLong, VoiceError
from backend.observability.tracing import current_span
from backend.thinkers.base import Answer, Checkpoints, LocalCheckpoints, Manifest, Question, ThinkerProgress
from backend.thinkers.cache import AnswerCache, slot_for
from backend.thinkers.run import ThinkerDependencies, ThinkerRun
from backend.tools.discovery import folder_modules, package_modules

log = logging.getLogger(__name__)

ROUTE_TOOL = "route_to_thinker"
QUERY_LIMIT = 2_000
"""Characters of a question."""

Think = Callable[[ThinkerRun], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Thinker:
    """A manifest and the code that answers."""

    manifest: Manifest
    think: Think


class ThinkerRegistry:
    """The registry, built once. `answer` may be called any number of times at once."""

    def __init__(self, thinkers: Iterable[Thinker], desk: ThinkerDependencies) -> None:
        self._desk = desk
        self._cache = AnswerCache(desk.memory)
        self._by_domain: dict[str, Thinker] = {}
        for thinker in thinkers:
            self._add(thinker)
        catch_all = [domain for domain, thinker in self._by_domain.items() if thinker.manifest.takes_unknown]
        if len(catch_all) > 1:
            raise BadPlugin(f"Only one Thinker can take unknown domains, not {' and '.join(catch_all)}.")
        self._catch_all = catch_all[0] if catch_all else None

    def __repr__(self) -> str:
        return f"ThinkerRegistry({', '.join(self._by_domain)})"

    @classmethod
    def discover(
        cls, desk: ThinkerDependencies, package: str = "backend.thinkers", folders: Iterable[Path] = ()
    ) -> ThinkerRegistry:
        """Every module of `package` and every file of `folders` that holds a `MANIFEST`.

        Raises `BadPlugin` on a broken file, a domain twice, or a tool that does not exist.
        """
        modules = [*package_modules(package), *(module for folder in folders for module in folder_modules(folder))]
        found = [_thinker(module) for module in modules if hasattr(module, "MANIFEST")]
        return cls([thinker for thinker in found if _is_set_up(thinker.manifest, desk)], desk)

    @property
    def desk(self) -> ThinkerDependencies:
        """What all Thinkers share: the agent, the tools, the modes, the pipeline, the reasoner."""
        return self._desk

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """What there is, in alphabetical order."""
        return tuple(self._by_domain[domain].manifest for domain in sorted(self._by_domain))

    def manifest_of(self, domain: str) -> Manifest:
        """The manifest that serves `domain`, the catch-all's for an unknown one. Raises `BadRequest`."""
        return self._serving(domain).manifest

    def route_tool(self) -> dict[str, Any]:
        """The function tool the Responder calls, in the Realtime API's JSON form."""
        return {
            "type": "function",
            "name": ROUTE_TOOL,
            "description": "Ask a specialist. Use it for everything that needs facts, current data or thought.",
            "parameters": {
                "type": "object",
                "properties": {
                    "domain": {
                        "type": "string",
                        "enum": [manifest.domain for manifest in self.manifests],
                        "description": "The specialist.",
                    },
                    "query": {
                        "type": "string",
                        "description": "The whole question in one sentence that can be understood by itself: "
                        "names, places and dates from the conversation put in.",
                    },
                    **self._patience(),
                },
                "required": ["domain", "query"],
                "additionalProperties": False,
            },
        }

    def guide(self) -> str:
        """When to route where, for the Responder's prompt."""
        lines = [
            f"- {manifest.domain}: for {manifest.description}. Example: “{manifest.example}”"
            for manifest in self.manifests
        ]
        return "\n".join(lines)

    def parse(self, name: str, arguments: str) -> tuple[str, str]:
        """(domain, query) of a tool call. Raises `BadRequest` with a message the model can act on."""
        if name != ROUTE_TOOL:
            raise BadRequest(f"There is no tool {name[:64]!r}. Call {ROUTE_TOOL} with a domain and a query.")
        try:
            values = json.loads(arguments)
        except ValueError:
            raise BadRequest('The arguments are not JSON. Send {"domain": "…", "query": "…"}.') from None
        if not isinstance(values, dict):
            raise BadRequest('The arguments are not an object. Send {"domain": "…", "query": "…"}.')
        domain, query = values.get("domain"), values.get("query")
        if not isinstance(domain, str) or not domain.strip():
            raise BadRequest(f"The domain is missing. It is one of: {self._names()}.")
        if not isinstance(query, str) or not query.strip():
            raise BadRequest("The query is missing. Send the whole question as a sentence.")
        if len(query) > QUERY_LIMIT:
            raise BadRequest(f"The query is over {QUERY_LIMIT:,} characters. Send only the question.")
        return self._serving(domain.strip().lower()).manifest.domain, query.strip()

    def in_background(self, arguments: str) -> bool:
        """Whether a tool call asks for work in the background. `parse` has read the rest of it."""
        try:
            values = json.loads(arguments)
        except ValueError:
            return False
        return isinstance(values, dict) and values.get("background") is True

    async def answer(
        self,
        question: Question,
        on_progress: Callable[[ThinkerProgress], None],
        *,
        steps: Checkpoints | None = None,
        patient: bool = False,
    ) -> Answer:
        """Think about `question` within the Thinker's deadline, or, if `patient`, for as long as the caller lets it.

        `steps` holds what was done before, and keeps what is done now. Raises `TookTooLong` after the deadline,
        `NoAnswer`, whose text can be spoken, or `BadRequest` for a domain nobody serves. Cancelling the
        awaiting task stops the model and the tools.
        """
        thinker = self._serving(question.domain)
        manifest = thinker.manifest
        deadline_s = self.deadline_s(question)
        try:
            async with asyncio.timeout(None if patient else deadline_s):
                return await self._served(thinker, question, on_progress, steps or LocalCheckpoints())
        except TimeoutError as error:
            raise TookTooLong(f"{manifest.label} took longer than {deadline_s:g} seconds.") from error
        except NoAnswer:
            raise
        except VoiceError as error:
            raise NoAnswer(f"{manifest.label} has no answer. {error}") from error
        except Exception as error:  # a Thinker file is a plugin: its fault costs an answer, never the call
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error(  # without the exception's text, which may hold the user's words
                "Thinker %s is broken: %s at %s:%s", manifest.domain, type(error).__name__, where.filename, where.lineno
            )
            raise NoAnswer(f"{manifest.label} has a fault.") from error

    def deadline_s(self, question: Question) -> float:
        """Seconds a question's Thinker has; the mode that is on may shorten them. Raises `BadRequest`."""
        own = self._serving(question.domain).manifest.deadline_s or self._desk.settings.thinker_deadline_s
        limit = self._desk.modes.named(question.mode).limits.thinker_deadline_s
        return min(own, limit) if limit else own

    async def _served(
        self, thinker: Thinker, question: Question, on_progress: Callable[[ThinkerProgress], None], steps: Checkpoints
    ) -> Answer:
        """From the cache, or thought out."""
        work = ThinkerRun(self._desk, thinker.manifest, question, on_progress, steps=steps)
        current_span().note(domain=thinker.manifest.domain, tier=thinker.manifest.tier, cache="off")
        day = local_day(self._desk.clock(), (situation := await work.situation()).zone)
        slot = slot_for(thinker.manifest, question, situation, day)
        if slot is None:
            return await thinker.think(work)

        async def compute(tell: Callable[[ThinkerProgress], None]) -> tuple[Answer, bool]:
            work.on_progress = tell
            answer = await thinker.think(work)
            return answer, work.cacheable and answer.source != "sample"

        return await self._cache.serve(slot, thinker.manifest.cache_ttl_s, compute, on_progress)

    def _patience(self) -> dict[str, Any]:
        """The tool's third argument, where there is a Thinker that can use it."""
        patient = [manifest.domain for manifest in self.manifests if manifest.background]
        if not patient:
            return {}
        words = (
            f"Only for {', '.join(patient)}: true when the user does not want to wait for the answer, as in “take your "
            "time”, “in the background” or “let me know”. It is then worked on without them, and told later."
        )
        return {"background": {"type": "boolean", "description": words}}

    def _add(self, thinker: Thinker) -> None:
        domain = thinker.manifest.domain
        if domain in self._by_domain:
            raise BadPlugin(f"Two Thinkers claim the domain {domain}.")
        self._desk.toolbox.only(thinker.manifest.tools)  # raises when one does not exist
        self._by_domain[domain] = thinker

    def _serving(self, domain: str) -> Thinker:
        if domain in self._by_domain:
            return self._by_domain[domain]
        if self._catch_all is None:
            raise BadRequest(f"There is no such domain. It is one of: {self._names()}.")
        return self._by_domain[self._catch_all]

    def _names(self) -> str:
        return ", ".join(sorted(self._by_domain))


def _is_set_up(manifest: Manifest, desk: ThinkerDependencies) -> bool:
    return not manifest.needs_set_up or all(name in desk.toolbox for name in manifest.tools)


def _thinker(module: ModuleType) -> Thinker:
    manifest = module.MANIFEST
    if not isinstance(manifest, Manifest):
        raise BadPlugin(f"MANIFEST in {module.__name__} is not a Manifest.")
    return Thinker(manifest, getattr(module, "think", ThinkerRun.consult))
