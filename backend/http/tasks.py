"""`/api/tasks` shows and controls background tasks; `/api/input` and `/api/status` lead to the coordinator.

The cookie identifies the caller; another user's task gives the same answer as one that does not exist.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, StringConstraints

from backend.access.usage import TURN
from backend.coordinator.store import INPUT_CHARS
from backend.errors import NotFound
from backend.http.bodies import ConversationId, documented, read_body
from backend.http.context import Caller, Context, Here, principal_of, spending
from backend.http.long_answers import json_response
from backend.runtime.json_objects import Json
from backend.tasks.task import INSTRUCTION_LIMIT, Task

LIST_LIMIT = 100

router = APIRouter(tags=["tasks"])


class NewTask(BaseModel):
    """`POST /api/tasks`."""

    kind: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)] = "research"
    instruction: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=INSTRUCTION_LIMIT)]
    conversation_id: ConversationId | None = None


@router.get("/api/tasks")
async def list_tasks(here: Here, caller: Caller, limit: Annotated[int, Query(ge=1, le=LIST_LIMIT)] = 20) -> Json:
    """List the caller's tasks, newest first. `unreadable`, if present, counts those only another version can read."""
    shown: Json = {"tasks": [_shown(task) for task in await here.services.work.tasks.list(caller.user, limit)]}
    unreadable = len(await here.services.work.tasks.repository.unreadable_of(caller.user))
    return shown | ({"unreadable": unreadable} if unreadable else {})


@router.post("/api/tasks", status_code=202, openapi_extra=documented(NewTask))
async def create_task(request: Request, here: Here, caller: Caller) -> Json:
    """Begin a task. If the same task is queued or running, it is returned instead."""
    await here.messages.take(caller.user, here.now())
    body = await read_body(request, NewTask)
    conversation_id = caller.principal.conversation_for(body.conversation_id)
    async with spending(request, TURN):
        task = await here.services.work.tasks.create(
            caller.user,
            body.kind,
            body.instruction,
            conversation_id or "",
            source_mode="chat",
            scope=principal_of(request).caller_scope,
        )
    return _shown(task)


@router.get("/api/tasks/{task_id}")
async def show_task(task_id: str, here: Here, caller: Caller) -> Json:
    """Return one task."""
    return _shown(await _own(task_id, here, caller))


@router.post("/api/tasks/{task_id}/cancel")
async def cancel_task(task_id: str, here: Here, caller: Caller) -> dict[str, str]:
    """Cancel a task: `{outcome: canceled | already_done}`; 404 for an unknown one."""
    outcome = await here.services.work.tasks.cancel(caller.user, task_id)
    if outcome == "not_found":
        raise _no_task()
    return {"outcome": outcome}


@router.get("/api/tasks/{task_id}/progress")
async def show_progress(task_id: str, here: Here, caller: Caller) -> Json:
    """Return a task's progress, oldest first."""
    task = await _own(task_id, here, caller)
    progress = await here.services.work.tasks.progress(caller.user, task_id) or []
    return {"state": task.state.value, "progress": [asdict(entry) for entry in progress]}


@router.get("/api/tasks/{task_id}/archive", response_model=None)
async def show_archive(task_id: str, here: Here, caller: Caller) -> Response:
    """Return every model call of a task, or of the digest `digest-{id}`, without secrets."""
    entries = await here.services.work.model_calls.read(caller.user, task_id)
    if entries is None:
        await _own(task_id, here, caller)
    return await json_response({"attempts": entries or []})


async def _own(task_id: str, here: Context, caller: Caller) -> Task:
    task = await here.services.work.tasks.get(caller.user, task_id)
    if task is None:
        raise _no_task()
    return task


def _shown(task: Task) -> Json:
    shown: Json = msgspec.to_builtins(task.shown())
    return shown


def _no_task() -> NotFound:
    return NotFound("No such task.", hint="It may have expired; GET /api/tasks lists yours.")


class NewInput(BaseModel):
    """`POST /api/input`."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=INPUT_CHARS)]


@router.post("/api/input", status_code=202, openapi_extra=documented(NewInput))
async def put_input(request: Request, here: Here, caller: Caller) -> Json:
    """Give the coordinator something to think about with its next digest. 429 when too much waits for it."""
    await here.messages.take(f"input {caller.user}", here.now())
    body = await read_body(request, NewInput)
    async with spending(request, TURN):
        await here.services.work.coordinator.add_input(caller.user, body.text, caller.principal.caller_scope)
    return {"ok": True}


@router.get("/api/status")
async def show_status(here: Here, caller: Caller) -> Json:
    """Return the coordinator's state, waiting notices and the caller's tasks. 503 when memory is out of reach."""
    shown: Json = msgspec.to_builtins(await here.services.work.coordinator.status(caller.user))
    return shown
