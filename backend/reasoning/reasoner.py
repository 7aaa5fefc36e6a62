"""The reasoner works on tasks, each within a deadline.

reasoner = Reasoner(agent, planner="…", executor="…")
reasoned = await reasoner.infer("A train leaves at nine …", strategy="dual")
"""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace

from backend.agent.session import Agent
from backend.errors import BadRequest, ModelUnavailable, NoAnswer, TooMany
from backend.observability.tracing import NO_TRACER, Tracer, opened_or_rooted
from backend.reasoning.base import OnStage, Reasoned, ReasoningRequest, ReasoningRun, Strategy
from backend.reasoning.metacognitive import think_dual, think_mono

TEXT_LIMIT = 8_000
"""The most characters of a task."""
AT_ONCE = 16
"""The most tasks at the same time; more are refused."""


class Reasoner:
    """Works on up to `AT_ONCE` tasks at the same time. `agent` holds the model and all tools."""

    def __init__(
        self,
        agent: Agent,
        *,
        planner: str,
        executor: str,
        deadline_s: float = 120.0,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        """`planner` names the model that thinks alone or plans, `executor` the one that carries a plan out."""
        self._agent = replace(agent, model_name=planner)
        self._executor = executor
        self._deadline_s = deadline_s
        self._tracer = tracer
        self._working = 0

    def __repr__(self) -> str:
        return f"Reasoner(planner {self._agent.model_name}, executor {self._executor})"

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools for a task that names none: those that look up public data."""
        return tuple(tool.name for tool in self._agent.toolbox.offered() if tool.cache and not tool.writes)

    async def infer(
        self,
        task: str | ReasoningRequest,
        strategy: Strategy = "mono",
        *,
        on_stage: OnStage = lambda stage: None,
        deadline_s: float | None = None,
    ) -> Reasoned:
        """Work on `task`. `strategy` counts only if the task is a text.

        When the time or a budget runs out, or a model becomes unavailable, the best result so far is returned as
        `incomplete`. Raises `NoAnswer` or `ModelUnavailable` when there is none, `BadRequest` for a task that is empty
        or too long, and `TooMany` beyond `AT_ONCE` tasks.
        """
        if isinstance(task, str):
            task = ReasoningRequest(task, strategy, tools=self.tools)
        if not task.text.strip() or len(task.text) > TEXT_LIMIT:
            raise BadRequest(f"A task has 1 to {TEXT_LIMIT:,} characters.")
        if self._working >= AT_ONCE:
            raise TooMany("Too many tasks are being reasoned about at the moment.", retry_after_s=10)
        self._working += 1
        context = task.context
        session = context.conversation_id or "reasoning"
        try:
            with opened_or_rooted(self._tracer, "reasoning", "reasoning", session, user=context.user_id) as span:
                reasoned = await self._within(ReasoningRun(self._agent, task, on_stage), deadline_s)
                span.note(strategy=task.strategy, state=reasoned.state, tool_calls=reasoned.tool_calls)
        finally:
            self._working -= 1
        return reasoned

    async def _within(self, run: ReasoningRun, deadline_s: float | None) -> Reasoned:
        began = time.monotonic()
        within_s = self._deadline_s if deadline_s is None else min(deadline_s, self._deadline_s)
        try:
            async with asyncio.timeout(within_s):
                reasoned = await self._thinking(run)
        except (TimeoutError, NoAnswer, ModelUnavailable, TooMany) as error:
            if not run.best and isinstance(error, TimeoutError):
                raise NoAnswer(f"The reasoning took longer than {within_s:g} seconds.") from None
            if not run.best:
                raise
            reasoned = run.reasoned(run.best, complete=False)
        return replace(reasoned, elapsed_ms=round((time.monotonic() - began) * 1000))

    def _thinking(self, run: ReasoningRun) -> Awaitable[Reasoned]:
        if run.task.strategy == "mono":
            return think_mono(run)
        return think_dual(run, actor=self._executor)
