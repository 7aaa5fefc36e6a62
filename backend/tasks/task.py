"""This module is the state machine of a background task.

                 begun                      done
    queued ───────────────► running ────────────────► done
      ▲  │                   │ │ ▲│
      │  │ canceled          │ │ ││ begun again: the worker before is taken for dead, and its run is over
      │  └─────► canceled ◄──┘ │ └┘
      │         failed, once   │ failed once more, or for good
      └────────────────────────┴─────────────────────► failed

A run may be repeated (a worker is killed, a queue delivers twice), so it happens *at least once*. Its effect happens
*exactly once*: runs are numbered, and only the newest run of a running task may report progress, keep a step, or end
the task. A late run gets `Superseded` and stops.

Everything here is pure. Time is an argument, in Unix seconds.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import msgspec

from backend.access.principal import PUBLIC, CallerScope
from backend.citations import Citation
from backend.errors import PeerError
from backend.storage.record_format import FORMAT, Format

INSTRUCTION_LIMIT = 4_000
"""The most characters of an instruction."""
DEATHS_LIMIT = 3
"""The number of dead workers after which a task fails, since it may be what kills them."""
OPEN_LIMIT = 20
"""The most queued or running tasks of a user."""
RETRIES = 1
"""How often a failed task is tried again."""
RETRY_AFTER_S = 5.0
"""Seconds before a failed task is tried again."""


class TaskState(StrEnum):
    """The states of a task."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


OPEN = frozenset({TaskState.QUEUED, TaskState.RUNNING})
CancelOutcome = Literal["canceled", "not_found", "already_done"]
TaskEvent = Literal["queued", "running", "progress", "done", "failed", "canceled", "retrying"]
"""The changes of a task, which `task` events show to the page."""


class Superseded(PeerError):
    """The run is over: the task was cancelled, ended, or begun again by another worker."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Setbacks:
    """The failed runs of a task, and the wait after the last. Times are Unix seconds."""

    failures: int = 0
    deaths: int = 0
    """Runs that ended with the death of their worker."""
    ready_at: float = 0.0
    """The earliest time of the next run; later than the task's `created_at` while a retry waits."""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of long work and its state. Times are Unix seconds."""

    id: str
    owner: str
    """The user who owns the task; no other user sees it."""
    conversation_id: str
    """The conversation that asked for it; empty: none."""
    kind: str
    """The domain of the Thinker that carries it out."""
    instruction: str
    created_at: float
    changed_at: float
    source_mode: Literal["voice", "chat"] = "voice"
    """Whether its result will be spoken or read."""
    state: TaskState = TaskState.QUEUED
    run: int = 0
    """The number of the newest run."""
    setbacks: Setbacks = Setbacks()
    progress: str = ""
    """The latest progress of the newest run, without the user's words."""
    result: str = ""
    source: str = ""
    """The origin of the answer: live, cache, sample or model."""
    citations: tuple[Citation, ...] = ()
    """The sources of the answer."""
    error: str = ""
    """Why the task failed, in words that can be spoken; while a retry waits, why it is repeated."""
    started_at: float | None = None
    ended_at: float | None = None
    scope: CallerScope = PUBLIC
    """The tools its run may use, beside being among its Thinker's: its owner's scope when they asked for it."""
    format: Format = FORMAT

    def __repr__(self) -> str:
        return f"Task({self.id[:6]}… {self.kind} {self.state}, run {self.run})"  # without the user's words

    @property
    def open(self) -> bool:
        """Whether the task is queued or running."""
        return self.state in OPEN

    def summary(self) -> dict[str, str]:
        """Return the task's entry in a list for a model."""
        return {"id": self.id, "kind": self.kind, "instruction": self.instruction, "state": self.state.value}

    def shown(self) -> ShownTask:
        """Return the task for its owner."""
        return msgspec.convert(self, ShownTask, from_attributes=True)


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """A progress entry, in its stored and shown form. `at` is Unix time in seconds."""

    at: float
    event: str
    detail: str = ""


class ShownTask(msgspec.Struct, frozen=True):
    """A task for its owner, in the API and the export; see `Task`."""

    id: str
    kind: str
    instruction: str
    conversation_id: str
    state: TaskState
    progress: str
    result: str
    source: str
    citations: tuple[Citation, ...]
    error: str
    created_at: float
    started_at: float | None
    ended_at: float | None
    run: int = msgspec.field(name="attempts")
    told: list[ProgressEntry] | msgspec.UnsetType = msgspec.UNSET
    """The progress, in the export only."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The answer of a run."""

    text: str
    source: str
    citations: tuple[Citation, ...] = ()


def begun(task: Task, now: float) -> Task:
    """Begin a run. A task that still runs has lost its worker; it fails at the third loss. Raises `Superseded`."""
    if not task.open:
        raise Superseded("The task is over.")
    deaths = task.setbacks.deaths + (task.state is TaskState.RUNNING)
    setbacks = replace(task.setbacks, deaths=deaths)
    task = replace(task, run=task.run + 1, setbacks=setbacks, started_at=task.started_at or now, changed_at=now)
    if deaths >= DEATHS_LIMIT:
        return _ended(task, TaskState.FAILED, now, error=f"Given up: {deaths} workers ended while they worked on it.")
    return replace(task, state=TaskState.RUNNING, progress="")


def progressed(task: Task, run: int, detail: str, now: float) -> Task:
    """Note the progress of the run."""
    owns(task, run)
    return replace(task, progress=detail, changed_at=now)


def done(task: Task, run: int, result: TaskResult, now: float) -> Task:
    """End the task with the answer of its run."""
    owns(task, run)
    ended = _ended(task, TaskState.DONE, now)
    return replace(ended, result=result.text, source=result.source, citations=result.citations)


def failed(task: Task, run: int, error: str, now: float, *, retry: bool) -> Task:
    """Note that the run failed. With `retry` the task is queued again if a retry is left; otherwise it fails."""
    owns(task, run)
    failures = task.setbacks.failures + 1
    task = replace(task, setbacks=replace(task.setbacks, failures=failures, ready_at=now + RETRY_AFTER_S))
    if failures > RETRIES or not retry:
        return _ended(task, TaskState.FAILED, now, error=error)
    return replace(task, state=TaskState.QUEUED, error=error, changed_at=now)


def handed_back(task: Task, run: int, now: float) -> Task:
    """Queue the task again because its worker ends in order. The run does not count as a failure."""
    owns(task, run)
    return replace(task, state=TaskState.QUEUED, setbacks=replace(task.setbacks, ready_at=now), changed_at=now)


def canceled(task: Task, now: float) -> Task:
    """Cancel the task."""
    if not task.open:
        raise Superseded("The task is over.")
    return _ended(task, TaskState.CANCELED, now)


def owns(task: Task, run: int) -> None:
    """Raise `Superseded` unless that run has the task."""
    if task.state is not TaskState.RUNNING or task.run != run:
        raise Superseded("Another run has this task, or it is over.")


def _ended(task: Task, state: TaskState, now: float, error: str = "") -> Task:
    return replace(task, state=state, ended_at=now, changed_at=now, progress="", error=error)


def normalised(instruction: str) -> str:
    """Return the instruction without irrelevant differences, so that a repeated request is the same task."""
    text = unicodedata.normalize("NFKC", instruction).casefold().replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().rstrip(" .?!")
