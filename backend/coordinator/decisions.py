"""One digest's thinking: a turn of the agent with the coordinator's tools, its model's attempts archived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from backend.agent.events import AgentEvent, SessionState, ToolFinished
from backend.agent.session import Agent
from backend.coordinator.actions import ACTION_TOOLS, Action, Draft
from backend.coordinator.digest import NOTHING, PROMPT, Happened, Pace, Thought, question
from backend.errors import NoAnswer
from backend.models.base import ChatModel
from backend.observability.tracing import NO_TRACER, Tracer, rooted
from backend.tasks.task import Task
from backend.tools.runner import Toolbox

INVALID_LIMIT = 20
"""Refused calls recorded of one digest."""

Scope = Callable[[str, str], AbstractContextManager[None]]
"""Name and owner → a block in which models' attempts are archived."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of it. `text` is empty when there is nothing to tell."""

    text: str
    actions: tuple[Action, ...] = ()
    invalid: tuple[str, ...] = ()
    """Actions that were refused, and why."""


class Mind:
    """Thinks about digests with `model`, the one every Thinker uses, its fallback included."""

    def __init__(
        self,
        model: ChatModel,
        model_name: str,
        scope: Scope,
        kinds: Collection[str],
        pace: Pace,
        within_s: float,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._model = model
        self._model_name = model_name
        self._scope = scope
        self._kinds = kinds
        self._pace = pace
        self._within_s = within_s
        self._tracer = tracer

    def __repr__(self) -> str:
        return f"Mind({self._model_name})"

    async def decide(
        self,
        user_id: str,
        digest_id: str,
        happened: Sequence[Happened],
        history: Sequence[Thought],
        tasks: Sequence[Task],
    ) -> Decision:
        """Raises `ModelUnavailable` or `NoAnswer`."""
        shown = tasks[: self._pace.tasks]
        draft = Draft(self._kinds, {*(task.id for task in shown), *(each.entry.task_id for each in happened)} - {""})

        def follow(event: AgentEvent) -> None:
            if isinstance(event, ToolFinished) and event.error and len(draft.invalid) < INVALID_LIMIT:
                draft.invalid.append({"tool": event.name, "error": event.error})

        agent = Agent(self._model, Toolbox(ACTION_TOOLS, {Draft: draft}), self._model_name)
        session = agent.create_session(
            f"digest-{digest_id}", system_prompt=PROMPT, user_id=user_id, on_event=follow, client="internal"
        )
        try:
            with (
                self._scope(f"digest-{digest_id}", user_id),
                rooted(self._tracer, "digest", "digest", f"digest-{digest_id}") as span,
            ):
                span.note(happened=len(happened), tasks=len(shown))
                async with asyncio.timeout(self._within_s):
                    response = await session.think(question(happened, history, shown, self._pace), "voice")
        except TimeoutError:
            raise NoAnswer(f"No decision within {self._within_s:g} seconds.") from None
        if response.state is not SessionState.COMPLETE or response.incomplete:
            raise NoAnswer("The digest's thinking broke off.")
        text = "" if response.text.strip(" .!").upper() == NOTHING else response.text
        return Decision(text, tuple(draft.actions), tuple(f"{each['tool']}: {each['error']}" for each in draft.invalid))
