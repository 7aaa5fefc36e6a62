"""Names of what the background keeps in Redis, and its JSON. Whatever is one user's is listed in `user:{id}:tasks`."""

from __future__ import annotations

import hashlib

import msgspec

from backend.errors import MemoryUnavailable
from backend.tasks.task import Task, normalised

EVENTS = "tasks:events"
"""The channel on which every change of a task is told to all processes."""
COUNTS = "tasks:counts"
"""A hash: event → how often it happened, over all processes and since ever."""
OPEN = "tasks:open"
"""A sorted set of the open tasks' ids by the second of their last change."""
RUNNING = "tasks:running"
"""A set of the running ones' ids."""
SWEEP = "tasks:sweep"
"""Held by who looks for tasks the queue has lost."""

_decoder = msgspec.json.Decoder(Task)


def record(task_id: str) -> str:
    """The task itself."""
    return f"task:{task_id}"


def steps(task_id: str) -> str:
    """A hash: name of a step → what it came to, as JSON."""
    return f"task:{task_id}:steps"


def told(task_id: str) -> str:
    """The list of what it has told, oldest first."""
    return f"task:{task_id}:told"


def archive(task_id: str) -> str:
    """The list of its model attempts, oldest first; a coordinator's run has one under its own id."""
    return f"task:{task_id}:archive"


def of_task(task_id: str) -> list[str]:
    """Every key a task can have; a new one is added here, so that it is forgotten with the rest."""
    return [record(task_id), steps(task_id), told(task_id), archive(task_id)]


def owned(owner: str) -> str:
    """The sorted set of a user's tasks by the second they were created."""
    return f"user:{owner}:tasks"


def archives(owner: str) -> str:
    """The sorted set of the names under which a user's model attempts are kept, by the second of the last."""
    return f"user:{owner}:archives"


def fold(owner: str, kind: str, instruction: str) -> str:
    """Where the open task of that instruction is found, so that asking twice is one task."""
    digest = hashlib.sha256(f"{kind}\n{normalised(instruction)}".encode()).hexdigest()[:32]
    return f"user:{owner}:task:{digest}"


def encode(task: Task) -> bytes:
    """The record as compact JSON."""
    return msgspec.json.encode(task)


def decode(raw: bytes) -> Task:
    """The record. Raises `MemoryUnavailable` when it is none of ours."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise MemoryUnavailable(
            "A task's record cannot be read.",
            hint="Does another program, or another version, write to the same Redis database?",
        ) from error
