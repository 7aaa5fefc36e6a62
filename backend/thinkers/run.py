"""One question being worked on: what a Thinker has at hand, and the usual way of answering.

The usual way is one turn of the agent with the manifest's prompt and tools. A Thinker that needs more defines
`async def think(run: ThinkerRun) -> Answer` and uses the same parts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from backend.agent.context import Situation
from backend.agent.events import AgentEvent, SessionState, StateChanged, ThinkerResponse, ToolFinished, ToolStarted
from backend.agent.session import Agent
from backend.agent.tool_router import ToolRouter
from backend.agent.trace import traced_call
from backend.errors import MemoryUnavailable, NoAnswer
from backend.middleware.base import Asked
from backend.middleware.pipeline import NO_STEPS, Pipeline, Prepared
from backend.reasoning.reasoner import Reasoner
from backend.settings.settings import Settings
from backend.storage.memory import HISTORY_LIMIT, Memory
from backend.thinkers.base import (
    Answer,
    Checkpoints,
    LocalCheckpoints,
    Manifest,
    Question,
    Source,
    ThinkerProgress,
    ToolStep,
)
from backend.tools.base import Principal
from backend.tools.registry import Registry
from backend.tools.runner import ToolResult
from backend.users.modes import Mode, Modes
from backend.users.profile import instructions_of

log = logging.getLogger(__name__)

SUMMARY_LIMIT = 2_000
"""Characters of the user's summary a Thinker is shown."""
MEMORY_WITHIN_S = 0.5
"""How long a Thinker waits for what memory knows; it answers without it after that."""


@dataclass(frozen=True, slots=True)
class ThinkerDependencies:
    """What all Thinkers share. The agent's toolbox holds every tool there is."""

    agent: Agent
    toolbox: Registry
    memory: Memory
    settings: Settings
    pipeline: Pipeline = NO_STEPS
    reasoner: Reasoner | None = None
    clock: Callable[[], float] = time.time
    modes: Modes = Modes()  # noqa: RUF009 - nothing in it changes
    router: ToolRouter | None = None
    """Picks the tools of a typed turn, which has many at hand; Thinkers have their manifests' few."""

    def model_name(self, tier: str, mode: Mode | None = None) -> str:
        """The configured model of a tier, or the one that a mode wants instead."""
        models = {"fast": self.settings.thinker_model, "advanced": self.settings.thinker_model_advanced}
        return (mode or Mode()).model_name(tier, models)


@dataclass(repr=False)
class ThinkerRun:
    """One question, and everything needed to answer it."""

    desk: ThinkerDependencies
    manifest: Manifest
    question: Question
    on_progress: Callable[[ThinkerProgress], None]
    began: float = field(default_factory=time.perf_counter)
    cacheable: bool = True
    """Whether the answer may be served again; anything used for it may forbid that."""
    tokens: int = 0
    """Spent so far, over all turns."""
    steps: Checkpoints = field(default_factory=LocalCheckpoints)
    """Where long work keeps what its steps came to."""
    _situation: Situation | None = None
    _own_calls: int = 0

    def __repr__(self) -> str:
        return f"ThinkerRun({self.manifest.domain}, {self.tokens} tokens)"  # and nobody's words

    async def consult(self) -> Answer:
        """The usual way: one turn of the agent. Raises `NoAnswer` or `ModelUnavailable`."""
        response = await self.ask(self.manifest.prompt, self.question.query, situation=await self.situation())
        return self.answer_from(response)

    async def ask(
        self,
        task: str,
        text: str,
        *,
        situation: Situation | None = None,
        tools: tuple[str, ...] | None = None,
        mode: Literal["voice", "chat"] | None = None,
        quiet: bool = False,
    ) -> ThinkerResponse:
        """One turn of the agent with the given task, tools (None: the manifest's), mode (None: the question's).

        A quiet one is not shown as progress: a step on the way, told in the Thinker's own words.
        """
        names = self.manifest.tools if tools is None else tools
        agent = self.desk.agent.with_(
            toolbox=self.desk.toolbox.only(names),
            model_name=self.desk.model_name(self.manifest.tier, self.profile),
            rounds=self.profile.limits.tool_rounds,
            profile=self.question.mode,
        )
        session = agent.create_session(
            self.question.session_id,
            system_prompt=task,
            user_id=self.question.user_id,
            on_event=None if quiet else self._tell,
            situation=situation,
            client=self.question.source_mode,
        )
        response = await session.think(text, mode or self.question.source_mode)
        self.tokens += response.tokens_used
        if response.state is not SessionState.COMPLETE:
            raise NoAnswer(f"{self.manifest.label} was stopped.")
        self.cacheable = self.cacheable and response.cacheable and (response.live or not names)
        return response

    def answer_from(self, response: ThinkerResponse) -> Answer:
        """The agent's response as this Thinker's answer."""
        source: Source = "sample" if response.sample else "live" if response.live else "model"
        return Answer(
            text=response.text,
            source=source,
            citations=response.citations,
            tool_calls=response.tool_calls_made,
            latency_ms=round((time.perf_counter() - self.began) * 1000),
            tokens=response.tokens_used,
        )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """One of the manifest's tools, called by the Thinker itself; failures come back as results."""
        box = self.desk.toolbox.only(self.manifest.tools)
        self._own_calls += 1
        call_id = f"own-{self._own_calls}"
        self.progress("", ToolStep(call_id, tool, "started"))
        result = await traced_call(box, tool, json.dumps(arguments), self.principal)
        self.progress("", ToolStep(call_id, tool, "failed" if result.error else "finished"))
        return result

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What the step came to when it was done before, else what it comes to now, which is kept. JSON data."""
        if (kept := self.steps.kept(name)) is not None:
            return kept
        value = await work()
        await self.steps.keep(name, value)
        return value

    def progress(self, detail: str, tool: ToolStep | None = None) -> None:
        """Tell the page what is being done. Never with the user's words."""
        self.on_progress(ThinkerProgress(detail, tool))

    @property
    def principal(self) -> Principal:
        """On whose behalf tools run."""
        question = self.question
        return Principal(question.user_id, question.session_id, str(self.began), question.source_mode, question.mode)

    @property
    def profile(self) -> Mode:
        """The mode that is on."""
        return self.desk.modes.named(self.question.mode)

    async def situation(self) -> Situation:
        """What the manifest wants shown of the user and the conversation; less of it when memory is slow or gone."""
        if self._situation is None:
            self._situation = await self._gathered()
        return self._situation

    async def _gathered(self) -> Situation:
        prepared: Prepared
        context, history, prepared = await asyncio.gather(self._context(), self._history(), self._prepared())
        preferences = context.get("preferences")
        preferences = preferences if isinstance(preferences, dict) else {}
        known = {name: preferences[name] for name in self.manifest.preferences if preferences.get(name)}
        zone = known.pop("time_zone", None)
        if self.manifest.summary and isinstance(summary := context.get("summary"), str) and summary:
            known["summary"] = summary[:SUMMARY_LIMIT]
        instructions = instructions_of(context)
        return prepared.add_to(
            Situation(zone=str(zone) if zone else None, known=known, instructions=instructions, history=history)
        )

    async def _prepared(self) -> Prepared:
        """What the pre-steps find for this question."""
        question = self.question
        asked = Asked(
            question.query,
            question.user_id,
            question.conversation_id or question.session_id,
            source_mode=question.source_mode,
            mode=question.mode,
            domain=self.manifest.domain,
            platform=question.platform,
        )
        return await self.desk.pipeline.before(asked, names=question.steps)

    async def _context(self) -> Mapping[str, Any]:
        """What memory knows of the user: the manifest wants some of it, and every answer their instructions."""
        if not self.question.user_id:
            return {}
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                return await self.desk.memory.user_context(self.question.user_id)
        except (MemoryUnavailable, TimeoutError):
            log.warning("%s goes on without what is known of the user: memory does not answer", self.manifest.domain)
            return {}

    async def _history(self) -> list[tuple[str, str]]:
        """The conversation's last turns: what the user and the assistant said, without the tools' part."""
        question, turns = self.question, self.manifest.history_turns
        if not turns or not question.user_id or not question.conversation_id:
            return []
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                messages = await self.desk.memory.recent_messages(
                    question.user_id, question.conversation_id, limit=HISTORY_LIMIT
                )
        except (MemoryUnavailable, TimeoutError):
            log.warning("%s goes on without the conversation: memory does not answer", self.manifest.domain)
            return []
        said = [message for message in messages if message.said][-2 * turns :]
        return [(message.role, message.content[:2_000]) for message in said]

    def _tell(self, event: AgentEvent) -> None:
        match event:
            case ToolStarted(id_, name):
                self.progress(f"calling {name}", ToolStep(id_, name, "started"))
            case ToolFinished(id_, name, error=error) if error:
                self.progress(f"{name}: {error.replace('_', ' ')}", ToolStep(id_, name, "failed"))
            case ToolFinished(id_, name):
                self.progress("", ToolStep(id_, name, "finished"))
            case StateChanged(SessionState.GENERATING):
                self.progress("putting the answer into words")
