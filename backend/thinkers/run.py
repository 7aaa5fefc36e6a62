"""A run of a Thinker has the question, the user's context, and the usual way to answer.

The usual way is one turn of the agent with the manifest's prompt and tools. A Thinker that needs more defines
`async def think(run: ThinkerRun) -> Answer` and uses the same parts.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from backend.agent.context import STRANGER, Situation, SourceMode
from backend.agent.events import AgentEvent, StateChanged, ThinkerResponse, ThinkingState
from backend.agent.session import Agent
from backend.agent.tool_router import ToolRouter
from backend.agent.turn import note_result
from backend.errors import NoAnswer
from backend.middleware.base import Asked
from backend.middleware.pipeline import NO_STEPS, Pipeline, Prepared
from backend.observability.tracing import step
from backend.page_events import ToolCallEvent, ToolProgress, ToolResultEvent
from backend.reasoning.reasoner import Reasoner
from backend.settings.settings import Settings
from backend.storage.memory import HISTORY_LIMIT, Memory, briefly
from backend.storage.outbox import Enqueue
from backend.thinkers.base import Answer, Checkpoints, Manifest, OnProgress, Question, Source, ThinkerProgress
from backend.tools.base import ToolContext
from backend.tools.registry import Registry
from backend.tools.runner import ToolResult
from backend.users.context_update import ContextUpdate, merged
from backend.users.modes import Mode, Modes
from backend.users.profile import UserProfile, load_profile

log = logging.getLogger(__name__)

SUMMARY_LIMIT = 2_000
"""The most characters of the user's summary that a Thinker sees."""
MEMORY_WITHIN_S = 0.5
"""Seconds a Thinker waits for memory; after that it answers without it."""


@dataclass(frozen=True, slots=True)
class ThinkerDependencies:
    """The dependencies that all Thinkers share. The agent's toolbox holds all tools."""

    agent: Agent
    toolbox: Registry
    memory: Memory
    settings: Settings
    pipeline: Pipeline = NO_STEPS
    reasoner: Reasoner | None = None
    clock: Callable[[], float] = time.time
    modes: Modes = Modes()  # noqa: RUF009 - nothing in it changes
    router: ToolRouter | None = None
    """Picks the tools of typed turns, which have many; Thinkers have the few of their manifests."""
    enqueue: Enqueue | None = None
    """Queues writes to memory that no answer waits for; None: nothing is learned from answers."""
    without_model: bool = False
    """Whether no language model answers, so that a question only gets the result of a tool."""

    def mode_of(self, question: Question) -> Mode:
        """Return the active mode of a question."""
        return question.mode or self.modes.named("")

    def model_name(self, tier: str, mode: Mode) -> str:
        """Return the configured model of a tier, or the one the mode names instead."""
        wanted = mode.model or tier
        models = {"fast": self.settings.models.thinker_model, "advanced": self.settings.models.thinker_model_advanced}
        return models.get(wanted, wanted)


@dataclass(repr=False)
class ThinkerRun:
    """A Thinker's work on one question."""

    dependencies: ThinkerDependencies
    manifest: Manifest
    question: Question
    on_progress: OnProgress
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    """The stored results of the steps of long work."""
    began: float = field(default_factory=time.perf_counter, init=False)
    cacheable: bool = field(default=True, init=False)
    """Whether the answer may be cached; anything that it rests on may forbid that."""
    tokens: int = field(default=0, init=False)
    """Tokens used so far, over all turns."""
    untrusted: bool = field(default=False, init=False)
    """Whether text of others has entered the run."""
    personal: bool = field(default=False, init=False)
    """Whether a tool has read the user's data."""
    update: ContextUpdate | None = field(default=None, init=False)
    """What the tools have learned about the user."""
    _situation: Situation | None = field(default=None, init=False)
    _call_numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), init=False)

    async def answer(self) -> Answer:
        """Answer in the usual way: one turn of the agent. Raises `NoAnswer` or `ModelUnavailable`."""
        response = await self.ask(self.manifest.prompt, self.question.query, situation=await self.situation())
        return self.answer_from(response)

    async def ask(
        self,
        task: str,
        text: str,
        *,
        situation: Situation | None = None,
        tools: tuple[str, ...] | None = None,
        mode: SourceMode | None = None,
        quiet: bool = False,
    ) -> ThinkerResponse:
        """Run one turn of the agent with the given task, tools (None: the manifest's), mode (None: the question's).

        A `quiet` turn shows no progress: it is an intermediate step, which the Thinker reports itself.
        """
        names = self.manifest.tools if tools is None else tools
        agent = replace(
            self.dependencies.agent,
            toolbox=self.dependencies.toolbox.only(names),
            model_name=self.dependencies.model_name(self.manifest.tier, self._mode),
            profile=self._mode_name,
            shown=False,
        )
        session = agent.create_session(
            self._conversation,
            system_prompt=task,
            user_id=self.question.user_id,
            on_event=None if quiet else self._on_agent_event,
            situation=situation,
            client=self.question.source_mode,
            rights=self.context.rights,
        )
        response = await session.think(text, mode or self.question.source_mode, raises=True)
        self.tokens += response.tokens_used
        self._take_in(response)
        if response.state is not ThinkingState.COMPLETE:
            raise NoAnswer(f"{self.manifest.label} was stopped.")
        # With tools on offer, an answer without any tool's data is not cached.
        self.cacheable = self.cacheable and response.cacheable and (response.live or not names)
        return response

    def answer_from(self, response: ThinkerResponse) -> Answer:
        """Return the agent's response as this Thinker's answer."""
        source: Source = "sample" if response.sample else "live" if response.live else "model"
        return Answer(
            text=response.text,
            source=source,
            citations=response.citations,
            tool_calls=len(response.tool_calls_made),
            latency_ms=round((time.perf_counter() - self.began) * 1000),
            tokens=response.tokens_used,
            untrusted=self.untrusted,
            update=self.update,
        )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call one of the manifest's tools; failures come back as results."""
        box = self.dependencies.toolbox.only(self.manifest.tools)
        call_id = f"own-{next(self._call_numbers)}"
        self.progress("", ToolProgress(call_id, tool, "started"))
        words = json.dumps(arguments)
        with step("tool", tool, words) as span:
            result = await box.run(tool, words, self.context)
            note_result(span, result)
        self._take_in(result)
        self.progress("", ToolProgress(call_id, tool, "failed" if result.error else "finished"))
        return result

    def _take_in(self, found: ThinkerResponse | ToolResult) -> None:
        """Note the properties that a turn of the agent or a tool's result gives the run."""
        self.untrusted = self.untrusted or found.untrusted
        self.personal = self.personal or found.personal
        if found.update:
            self.update = merged([self.update, found.update])

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the saved result of a step (JSON data), or do `work` now and save its result."""
        if (saved := self.checkpoints.load(name)) is not None:
            return saved
        value = await work()
        await self.checkpoints.save(name, value)
        return value

    def progress(self, detail: str, tool: ToolProgress | None = None) -> None:
        """Show the current step on the page, never with the user's words."""
        self.on_progress(ThinkerProgress(detail, tool))

    @property
    def context(self) -> ToolContext:
        """The context of tool calls at this moment."""
        question = self.question
        rights = question.rights.tainted() if self.untrusted else question.rights
        return ToolContext(
            question.user_id, self._conversation, str(self.began), question.source_mode, self._mode_name, rights
        )

    @property
    def _conversation(self) -> str:
        return self.question.conversation_id or self.question.session_id

    @property
    def _mode(self) -> Mode:
        return self.dependencies.mode_of(self.question)

    @property
    def _mode_name(self) -> str:
        return self.question.mode.name if self.question.mode else ""

    async def situation(self) -> Situation:
        """Return the data of user and conversation that the manifest asks for, or less if memory is slow or down."""
        if self._situation is None:
            profile, history, prepared = await asyncio.gather(self._profile(), self._history(), self._prepared())
            self._situation = prepared.add_to(Situation(profile, history=history))
        return self._situation

    def show_date_only(self) -> None:
        """Leave the time of day and the zone out of the prompt, because others may be served the answer."""
        if self._situation is not None:
            self._situation = replace(self._situation, date_only=True)

    async def _prepared(self) -> Prepared:
        question = self.question
        asked = Asked(
            question.query,
            question.user_id,
            question.conversation_id or question.session_id,
            source_mode=question.source_mode,
            mode=self._mode_name,
            domain=self.manifest.domain,
            platform=question.platform,
        )
        return await self.dependencies.pipeline.before(asked, names=question.mode.steps if question.mode else None)

    async def _profile(self) -> UserProfile:
        """Load the user's profile, of which every answer needs the instructions, and the manifest more."""
        if not (user_id := self.question.user_id):
            return STRANGER
        warning = f"{self.manifest.domain} goes on without the user's profile"
        loading = load_profile(self.dependencies.memory, user_id)
        profile = await briefly(loading, STRANGER, within_s=MEMORY_WITHIN_S, warning=warning)
        summary_chars = SUMMARY_LIMIT if self.manifest.summary else 0
        return profile.narrowed(self.manifest.preferences, summary_chars=summary_chars)

    async def _history(self) -> list[tuple[str, str]]:
        """Load the last turns of the conversation: the words of user and assistant, without tool calls."""
        question, turns = self.question, self.manifest.history_turns
        # Only a known user's conversation is stored.
        if not turns or not question.user_id or not question.conversation_id:
            return []
        memory = self.dependencies.memory
        loading = memory.recent_messages(question.user_id, question.conversation_id, limit=HISTORY_LIMIT)
        warning = f"{self.manifest.domain} goes on without the conversation"
        messages = await briefly(loading, [], within_s=MEMORY_WITHIN_S, warning=warning)
        said = [message for message in messages if message.said][-2 * turns :]
        return [(message.role, message.content[:2_000]) for message in said]

    def _on_agent_event(self, event: AgentEvent) -> None:
        match event:
            case ToolCallEvent(id_, name):
                self.progress(f"calling {name}", ToolProgress(id_, name, "started"))
            case ToolResultEvent(id_, name, error=error) if error:
                self.progress(f"{name}: {error.replace('_', ' ')}", ToolProgress(id_, name, "failed"))
            case ToolResultEvent(id_, name):
                self.progress("", ToolProgress(id_, name, "finished"))
            case StateChanged(ThinkingState.GENERATING):
                self.progress("putting the answer into words")
