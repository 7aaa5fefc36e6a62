"""This module is the state machine of a background task.

                 begun                      done
    queued ───────────────► running ────────────────► done
      ▲  │                   │ │ ▲│
      │  │ canceled          │ │ ││ begun again: the worker before is taken for dead, and its run is over
      │  └─────► canceled ◄──┘ │ └┘
      │         failed, once   │ failed once more, or for good
      └────────────────────────┴─────────────────────► failed

A run may be repeated (a worker is killed, a queue delivers twice): that is *at least once*. Its effect comes *exactly
once*, because every run has a number, and only the newest run of a task that is still running may report progress,
keep a step, or end the task: a late one gets `Superseded` and stops.

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
"""Characters of an instruction."""
DEATHS_LIMIT = 3
"""Workers a task may take with it: one that kills them must not go on doing so."""
OPEN_LIMIT = 20
"""Tasks a user may have queued or running."""
RETRIES = 1
"""Times a task that failed is tried again."""
RETRY_AFTER_S = 5.0
"""Seconds before it is tried again."""


class TaskState(StrEnum):
    """A task is in one of these states."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


OPEN = frozenset({TaskState.QUEUED, TaskState.RUNNING})
CancelOutcome = Literal["canceled", "not_found", "already_done"]
TaskEvent = Literal["queued", "running", "progress", "done", "failed", "canceled", "retrying"]
"""The changes of a task, which the page is shown in its `task` events."""


class Superseded(PeerError):
    """This is raised when a run is over: the task was cancelled, ended, or begun again by another worker."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Setbacks:
    """The runs of a task that came to nothing, and the wait after the last. Times are Unix seconds."""

    failures: int = 0
    deaths: int = 0
    """Runs that ended with the death of their worker."""
    ready_at: float = 0.0
    """No run begins before; later than the task's `created_at` while a retry waits."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task is a piece of long work and its state. Times are Unix seconds."""

    id: str
    owner: str
    """The user it belongs to; no other user ever sees it."""
    conversation_id: str
    """Where it was asked for; empty when nowhere in particular."""
    kind: str
    """The domain of the Thinker that does it."""
    instruction: str
    created_at: float
    changed_at: float
    source_mode: Literal["voice", "chat"] = "voice"
    """How its result will be given: to be spoken, or to be read."""
    state: TaskState = TaskState.QUEUED
    run: int = 0
    """The number of the newest run: how often it was begun."""
    setbacks: Setbacks = Setbacks()
    progress: str = ""
    """The latest progress of the newest run, without the user's words."""
    result: str = ""
    source: str = ""
    """Where the answer comes from: live, cache, sample or model."""
    citations: tuple[Citation, ...] = ()
    """The sources of the answer."""
    error: str = ""
    """Why it failed, in words that can be spoken; while a retry waits, why it will be tried again."""
    started_at: float | None = None
    ended_at: float | None = None
    scope: CallerScope = PUBLIC
    """The tools its run may use, beside being among its Thinker's: its owner's scope when they asked for it."""
    format: Format = FORMAT

    def __repr__(self) -> str:
        return f"Task({self.id[:6]}… {self.kind} {self.state}, run {self.run})"  # and nobody's words

    @property
    def open(self) -> bool:
        """True while the task is queued or running."""
        return self.state in OPEN

    def summary(self) -> dict[str, str]:
        """Return what a model is shown of the task in a list."""
        return {"id": self.id, "kind": self.kind, "instruction": self.instruction, "state": self.state.value}

    def shown(self) -> ShownTask:
        """Return what the task's owner is shown of it."""
        return msgspec.convert(self, ShownTask, from_attributes=True)


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """A progress entry is stored and shown as it is. `at` is Unix time in seconds."""

    at: float
    event: str
    detail: str = ""


class ShownTask(msgspec.Struct, frozen=True):
    """A task as its owner is shown it, by the API and the export; see `Task`."""

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
    """A task result is the answer of a run."""

    text: str
    source: str
    citations: tuple[Citation, ...] = ()


def begun(task: Task, now: float) -> Task:
    """Begin a run; a task that still runs has lost its worker, and fails with the third. Raises `Superseded`."""
    if not task.open:
        raise Superseded("The task is over.")
    deaths = task.setbacks.deaths + (task.state is TaskState.RUNNING)
    setbacks = replace(task.setbacks, deaths=deaths)
    task = replace(task, run=task.run + 1, setbacks=setbacks, started_at=task.started_at or now, changed_at=now)
    if deaths >= DEATHS_LIMIT:
        return _ended(task, TaskState.FAILED, now, error=f"Given up: {deaths} workers ended while they worked on it.")
    return replace(task, state=TaskState.RUNNING, progress="")


def progressed(task: Task, run: int, detail: str, now: float) -> Task:
    """Note how far the run is."""
    owns(task, run)
    return replace(task, progress=detail, changed_at=now)


def done(task: Task, run: int, result: TaskResult, now: float) -> Task:
    """End the task with the answer of its run."""
    owns(task, run)
    ended = _ended(task, TaskState.DONE, now)
    return replace(ended, result=result.text, source=result.source, citations=result.citations)


def failed(task: Task, run: int, error: str, now: float, *, retry: bool) -> Task:
    """Note that the run failed: with `retry` the task is queued again while a try is left, else it has failed."""
    owns(task, run)
    failures = task.setbacks.failures + 1
    task = replace(task, setbacks=replace(task.setbacks, failures=failures, ready_at=now + RETRY_AFTER_S))
    if failures > RETRIES or not retry:
        return _ended(task, TaskState.FAILED, now, error=error)
    return replace(task, state=TaskState.QUEUED, error=error, changed_at=now)


def handed_back(task: Task, run: int, now: float) -> Task:
    """Queue the task again because its worker ends in order; the run does not count as a failure."""
    owns(task, run)
    return replace(task, state=TaskState.QUEUED, setbacks=replace(task.setbacks, ready_at=now), changed_at=now)


def canceled(task: Task, now: float) -> Task:
    """Cancel the task."""
    if not task.open:
        raise Superseded("The task is over.")
    return _ended(task, TaskState.CANCELED, now)


def owns(task: Task, run: int) -> None:
    """Raise `Superseded` unless that run is the one that has the task."""
    if task.state is not TaskState.RUNNING or task.run != run:
        raise Superseded("Another run has this task, or it is over.")


def _ended(task: Task, state: TaskState, now: float, error: str = "") -> Task:
    return replace(task, state=state, ended_at=now, changed_at=now, progress="", error=error)


def normalised(instruction: str) -> str:
    """Return the instruction without differences that do not change it, so that asking twice is one task."""
    text = unicodedata.normalize("NFKC", instruction).casefold().replace("’", "'")
    return re.sub(r"\s+", " ", text).strip().rstrip(" .?!")
