"""The agent decides on a digest in one turn, with the coordinator's actions as tools. Its model calls are logged.

The model sees what happened since the last digest, what happened before, and the user's tasks, all as JSON data. Each
action that it calls is checked, noted, and carried out later. A wrong action (bad arguments, an unknown kind, another
user's task) returns to the model as a failed result that says why, and is recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

import msgspec

from backend.agent.events import AgentEvent, ThinkingState
from backend.agent.session import Agent
from backend.coordinator.coordinator import Decision, Digest, DigestItem, outcome_of
from backend.coordinator.store import (
    Action,
    CancelTask,
    CreateTask,
    HistoryEntry,
    SummarizeTaskResult,
    inbox_key,
)
from backend.errors import BadRequest, NoAnswer
from backend.models.base import ChatModel
from backend.observability.tracing import NO_TRACER, Tracer, rooted
from backend.page_events import ToolResultEvent
from backend.runtime.json_objects import Json
from backend.runtime.prompts import prompt
from backend.tools.runner import Toolbox

ACTIONS_LIMIT = 8
"""The most actions of one digest."""
CREATE_LIMIT = 3
"""The most tasks that one digest may begin: a model that loops must not fill the queue."""
INVALID_LIMIT = 20
"""The most refused actions that are recorded of one digest."""
THINK_WITHIN_S = 60.0
"""Seconds a digest's model may take."""
HISTORY_ENTRIES = 40
"""The most earlier events that a digest shows."""
HISTORY_BYTES = 20_480
ACTIONS: tuple[type[Action], ...] = get_args(Action)
NOTHING = "NOTHING"
"""The answer of a model that has nothing to say, as `prompts/system.md` asks for it."""


@dataclass(frozen=True, slots=True)
class ModelDecider:
    """A decider that asks `model_name`, with the fallback that every Thinker has."""

    model: ChatModel
    model_name: str
    scope: Callable[..., AbstractContextManager[None]]
    """Returns a block in which model calls are logged: `ModelCallLog.scope`."""
    kinds: Collection[str]
    tracer: Tracer = NO_TRACER

    async def decide(self, digest: Digest) -> Decision:
        """Ask the model. Raises `ModelUnavailable` or `NoAnswer`."""
        task_ids = {task.id for task in digest.tasks} | {item.entry.task_id for item in digest.items} - {""}
        actions, invalid = RequestedActions(self.kinds, task_ids), list[str]()

        def on_event(event: AgentEvent) -> None:
            if isinstance(event, ToolResultEvent) and event.error and len(invalid) < INVALID_LIMIT:
                invalid.append(f"{event.tool_name}: {event.error}")

        asked = prompt("coordinator/injection", digest=question(digest))
        name = f"digest-{digest.id}"
        agent = Agent(self.model, action_tools(actions), self.model_name)
        session = agent.create_session(
            name,
            system_prompt=prompt("coordinator/system"),
            user_id=digest.user_id,
            on_event=on_event,
            client="internal",
        )
        try:
            with (
                self.scope(name, digest.user_id, while_exists=inbox_key(digest.user_id)),
                rooted(self.tracer, "digest", "digest", name, user=digest.user_id) as span,
            ):
                span.note(happened=len(digest.items), tasks=len(digest.tasks))
                async with asyncio.timeout(THINK_WITHIN_S):
                    response = await session.think(asked, "voice", raises=True)
        except TimeoutError:
            raise NoAnswer(f"No decision within {THINK_WITHIN_S:g} seconds.") from None
        if response.state is not ThinkingState.COMPLETE or response.incomplete:
            raise NoAnswer("The decision about the digest broke off.")
        text = "" if response.text.strip(" .!").upper() == NOTHING else response.text
        return Decision(text, tuple(actions.valid), tuple(invalid))


@dataclass
class RequestedActions:
    """The actions that a model calls in one digest. `tasks` are the ids of the tasks that it was shown."""

    kinds: Collection[str]
    tasks: Collection[str]
    valid: list[Action] = field(default_factory=list)

    def add(self, action: Action) -> None:
        """Note the action. Raises `BadRequest` when it cannot be carried out."""
        if len(self.valid) >= ACTIONS_LIMIT:
            raise BadRequest(f"No more than {ACTIONS_LIMIT} actions in one digest.")
        match action:
            case CreateTask(kind) if kind not in self.kinds:
                known = ", ".join(sorted(self.kinds)) or "none"
                raise BadRequest(f"There is no kind {kind!r}. The kinds are: {known}.")
            case CreateTask() if sum(isinstance(each, CreateTask) for each in self.valid) >= CREATE_LIMIT:
                raise BadRequest(f"No more than {CREATE_LIMIT} new tasks in one digest.")
            case CancelTask(task_id) | SummarizeTaskResult(task_id) if task_id not in self.tasks:
                raise BadRequest(f"There is no task {task_id!r} among those shown.")
        if action not in self.valid:
            self.valid.append(action)


def action_tools(actions: RequestedActions) -> Toolbox:
    """Return a toolbox with a tool for each kind of action. Each tool notes the action in `actions`."""
    box = Toolbox((), {})
    _, schemas = msgspec.json.schema_components(ACTIONS)
    for kind in ACTIONS:
        fields = {name: each for name, each in schemas[kind.__name__]["properties"].items() if name != "action"}
        parameters = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
        name, noted = str(kind.__struct_config__.tag), partial(_noted, actions, kind)
        box.register(name, kind.__doc__ or "", parameters, noted, clients={"internal"}, cache=False)
    return box


async def _noted(actions: RequestedActions, kind: type[Action], arguments: Json) -> Json:
    actions.add(kind(**arguments))
    return {"noted": True}


def question(digest: Digest) -> str:
    """Return the digest as JSON, for the prompt `injection.md`."""
    new = {item.entry.id for item in digest.items}
    before = bounded([each for each in digest.history if each.id not in new])
    shown = {
        "happened": [_shown(item) for item in digest.items],
        "before": [{"kind": entry.kind, "text": entry.text} for entry in before],
        "tasks": [task.summary() for task in digest.tasks],
    }
    return json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


def bounded(history: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the newest entries that a digest may show, oldest first."""
    kept: list[HistoryEntry] = []
    left = HISTORY_BYTES
    for entry in sorted(history, key=lambda entry: entry.at, reverse=True)[:HISTORY_ENTRIES]:
        left -= len(msgspec.json.encode(entry))
        if left < 0:
            break
        kept.append(entry)
    return kept[::-1]


def _shown(item: DigestItem) -> dict[str, str]:
    entry, task = item.entry, item.task
    if entry.kind == "input":
        return {"input": entry.text, "mode": entry.mode}
    if task is None:
        return {"result": "forgotten", "task_id": entry.task_id}
    return {"task_id": task.id, "instruction": task.instruction, "state": task.state.value, "result": outcome_of(task)}
