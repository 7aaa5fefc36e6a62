"""This tool lists and cancels the user's background tasks, and gets their results. `UserTasks` is injected."""

from typing import Annotated, Literal, Protocol

from backend.access.principal import ToolScope
from backend.citations import Citation
from backend.errors import BadRequest
from backend.language.sentences import sentences
from backend.tools.base import Json, Result, ToolContext, listed, tool

_STATES = {"queued": "waiting", "running": "at work", "canceled": "stopped"}
"""The spoken words for states that are not spoken by their name."""
SENTENCES = 3
"""The most sentences of a result that are spoken."""


class UserTasks(Protocol):
    """A user's background tasks, newest first, each as JSON data with `id`, `kind`, `instruction` and `state`."""

    async def newest(self, user_id: str) -> list[Json]:
        """Return open and ended tasks, without their results. Raises `MemoryUnavailable`."""
        ...

    async def result(self, user_id: str, task_id: str) -> Json | None:
        """Return one task with its `result`, or why there is none yet; None when it is not the user's."""
        ...

    async def cancel(self, user_id: str, task_id: str) -> str:
        """Cancel a task, and return `canceled`, `already_done` or `not_found`."""
        ...


@tool(
    "background_tasks",
    "The user's background tasks, such as research they asked for earlier: list them, get the result of one, or cancel "
    "one. Without a task_id, get and cancel take the newest that fits.",
    scope=ToolScope.SIGNED_IN,
    writes=("cancel",),
    cache=False,
    guidance="Background tasks: only cancel one when the user says so. When one is still running, say how far it is.",
)
async def background_tasks(
    context: ToolContext,
    tasks: UserTasks | None,
    action: Literal["list", "get", "cancel"],
    task_id: Annotated[str, "Its id, as listed; empty: the newest."] = "",
) -> Result:
    """List, get or cancel tasks. Raises `BadRequest` when there is no such task, or `MemoryUnavailable`."""
    newest = await tasks.newest(context.user_id) if tasks else []
    if tasks is None or action == "list" or not newest:
        said = listed([f"{_about(task)}: {_STATES.get(task['state'], task['state'])}" for task in newest])
        return Result({"tasks": newest}, spoken=f"{said}." if newest else "There is nothing in the background.")
    fitting = [task["id"] for task in newest if action == "get" or task["state"] in ("queued", "running")]
    chosen = task_id or next(iter(fitting), "")
    if not chosen:
        raise BadRequest("Nothing is running that could be stopped.")
    if action == "cancel":
        stopped = {task["id"]: task["instruction"] for task in newest}.get(chosen, "")
        done = {"outcome": await tasks.cancel(context.user_id, chosen), "instruction": stopped}
        is_stopped = done["outcome"] == "canceled"
        return Result(done, spoken=f"I have stopped this: {_about(done)}." if is_stopped else "It was over already.")
    found = await tasks.result(context.user_id, chosen)
    if found is None:
        raise BadRequest("The user has no such task.", hint="List them first.")
    citations = tuple(Citation(**each) for each in found.get("citations") or ())
    return Result(found, citations=citations, untrusted=True, spoken=_spoken(found))


def _spoken(task: Json) -> str:
    """Return the spoken progress or result of a task."""
    match task["state"]:
        case "queued" | "running":
            progress = f", {task['progress']}" if task.get("progress") else ""
            return f"I am still working on this: {_about(task)}{progress}."
        case "done":
            return f"About this: {_about(task)}. {' '.join(sentences(task['result'])[:SENTENCES])}"
    return f"Nothing came of this: {_about(task)}. {task.get('error') or 'It was stopped.'}"


def _about(task: Json) -> str:
    """Return the instruction of a task without its final punctuation."""
    return str(task["instruction"]).strip().rstrip(".?!")
