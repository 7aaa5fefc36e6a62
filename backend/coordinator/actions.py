"""What a coordinator may do, as tools of the agent: each call is checked, noted, and carried out later.

A call that cannot be right (bad arguments, an unknown kind, somebody else's task) goes back to the model as a failed
result that says why, and is recorded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from backend.errors import BadRequest
from backend.tasks.task import INSTRUCTION_LIMIT
from backend.tools.base import Result, Tool, tool

ACTIONS_LIMIT = 8
"""Actions of one digest."""
CREATE_LIMIT = 3
"""Tasks one digest may begin: a model that loops must not fill the queue."""
SUMMARY_CHARS = 1_000
FEEDBACK_CHARS = 500


class CreateTask(msgspec.Struct, frozen=True, tag="create_task", tag_field="action"):
    """Begin long work."""

    kind: str
    instruction: str


class CancelTask(msgspec.Struct, frozen=True, tag="cancel_task", tag_field="action"):
    """Stop it."""

    task_id: str


class SummarizeTaskResult(msgspec.Struct, frozen=True, tag="summarize_task_result", tag_field="action"):
    """Keep what matters of a result."""

    task_id: str
    summary: str


class CaptureFeedback(msgspec.Struct, frozen=True, tag="capture_feedback", tag_field="action"):
    """Keep what the user thinks of us."""

    feeling: str
    text: str


Action = CreateTask | CancelTask | SummarizeTaskResult | CaptureFeedback


@dataclass
class Draft:
    """The actions of one digest, as the model asks for them. `tasks` are the ids it was shown."""

    kinds: Collection[str]
    tasks: Collection[str]
    actions: list[Action] = field(default_factory=list)
    invalid: list[dict[str, Any]] = field(default_factory=list)
    """Calls that were refused: name and why."""

    def note(self, action: Action) -> Result:
        """Take it in. Raises `BadRequest` when it cannot be carried out."""
        if len(self.actions) >= ACTIONS_LIMIT:
            raise BadRequest(f"No more than {ACTIONS_LIMIT} actions at once.")
        match action:
            case CreateTask(kind):
                self._check_kind(kind)
            case CancelTask(task_id) | SummarizeTaskResult(task_id):
                self._check_task(task_id)
            case _:
                pass
        if action not in self.actions:
            self.actions.append(action)
        return Result({"noted": True})

    def _check_kind(self, kind: str) -> None:
        if kind not in self.kinds:
            raise BadRequest(f"There is no kind {kind!r}. The kinds are: {', '.join(sorted(self.kinds)) or 'none'}.")
        if sum(isinstance(action, CreateTask) for action in self.actions) >= CREATE_LIMIT:
            raise BadRequest(f"No more than {CREATE_LIMIT} new tasks at once.")

    def _check_task(self, task_id: str) -> None:
        if task_id not in self.tasks:
            raise BadRequest(f"There is no task {task_id!r} among those shown.")


@tool("create_task", "Begins long work in the background.", cache=False, clients=("internal",))
async def create_task(
    draft: Draft,
    kind: Annotated[str, "Which specialist does it, such as research."],
    instruction: Annotated[str, Field(min_length=3, max_length=INSTRUCTION_LIMIT, description="All it needs to know.")],
) -> Result:
    """Raises `BadRequest`."""
    return draft.note(CreateTask(kind, instruction))


@tool("cancel_task", "Stops a task that is not wanted any more.", cache=False, clients=("internal",))
async def cancel_task(draft: Draft, task_id: Annotated[str, "Its id, as shown."]) -> Result:
    """Raises `BadRequest`."""
    return draft.note(CancelTask(task_id))


@tool("summarize_task_result", "Keeps what matters of a task's result.", cache=False, clients=("internal",))
async def summarize_task_result(
    draft: Draft,
    task_id: Annotated[str, "Its id, as shown."],
    summary: Annotated[str, Field(min_length=1, max_length=SUMMARY_CHARS, description="Two or three sentences.")],
) -> Result:
    """Raises `BadRequest`."""
    return draft.note(SummarizeTaskResult(task_id, summary))


@tool("capture_feedback", "Keeps what the user thinks of the service.", cache=False, clients=("internal",))
async def capture_feedback(
    draft: Draft,
    feeling: Literal["praise", "complaint", "correction", "wish"],
    text: Annotated[str, Field(min_length=1, max_length=FEEDBACK_CHARS, description="What they said, briefly.")],
) -> Result:
    """Raises `BadRequest`."""
    return draft.note(CaptureFeedback(feeling, text))


_DECLARED: tuple[Any, ...] = (create_task, cancel_task, summarize_task_result, capture_feedback)
ACTION_TOOLS: tuple[Tool, ...] = tuple(function.__tool__ for function in _DECLARED)
