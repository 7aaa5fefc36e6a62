"""This module runs the steps of one stage, in parallel where they are independent, each within its deadline.

A step that fails or is slow costs only its own output: steps that depend on it still run, without that output. Its
exception is logged by type and place alone, since the text may hold a user's words.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

from backend.agent.context import Exchange, Note
from backend.errors import VoiceError
from backend.middleware.base import Amended, Aside, MiddlewareStep, Output
from backend.models.base import quoted
from backend.runtime.supervisor import leave_behind

log = logging.getLogger(__name__)

OUTPUT_LIMIT = 8_000
"""The most characters of JSON that a step may return."""
STOP_WITHIN_S = 0.05
"""Seconds a cancelled step may take to clean up before the pipeline stops waiting for it."""

Kind = Literal["done", "nothing", "failed", "timeout"]
Call = Callable[[MiddlewareStep, Mapping[str, Output]], Any]
"""Returns the coroutine of a step, given the outputs of its dependencies."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of one step."""

    name: str
    kind: Kind
    elapsed_s: float
    output: Output | None = None


async def run_steps(
    steps: Sequence[MiddlewareStep],
    call: Call,
    *,
    within_s: float,
    given: Mapping[str, Output] | None = None,
) -> list[StepOutcome]:
    """Run `steps`, which are sorted and of one stage, and return their outcomes in the order in which they ended.

    `given` are outputs of an earlier stage. A step that is not done after `within_s` seconds is a timeout. Raises
    nothing but `CancelledError`, after all steps were cancelled.
    """
    ends_at = time.monotonic() + within_s
    outputs, outcomes = dict(given or {}), list[StepOutcome]()
    running: dict[str, asyncio.Task[None]] = {}

    async def run(step: MiddlewareStep) -> None:
        if waits_for := [running[name] for name in step.depends_on if name in running]:
            await asyncio.wait(waits_for)
        outcome = await outcome_of(step)
        outcomes.append(outcome)
        if outcome.output is not None:
            outputs[step.name] = outcome.output

    async def outcome_of(step: MiddlewareStep) -> StepOutcome:
        began = time.monotonic()
        left_s = min(step.deadline_s, ends_at - began)
        if left_s <= 0:
            return StepOutcome(step.name, "timeout", 0.0)
        earlier = {name: outputs[name] for name in step.depends_on if name in outputs}
        kind, output = await _finished(step, call(step, earlier), left_s)
        return StepOutcome(step.name, kind, time.monotonic() - began, output)

    try:
        for step in steps:
            running[step.name] = asyncio.create_task(run(step), name=f"step {step.name}")
        await asyncio.gather(*running.values())
    finally:
        for task in running.values():
            task.cancel()
    return outcomes


async def _finished(step: MiddlewareStep, work: Any, within_s: float) -> tuple[Kind, Output | None]:
    """Return the step's output, or a timeout, even if the step does not stop."""
    task: asyncio.Task[Any] = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=within_s)
    except asyncio.CancelledError:
        task.cancel()
        leave_behind(task)
        raise
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_WITHIN_S)
        leave_behind(task)
        log.warning("step %s took longer than %.1f s and is skipped", step.name, within_s)
        return "timeout", None
    return _judged(step, task)


def _judged(step: MiddlewareStep, task: asyncio.Task[Any]) -> tuple[Kind, Output | None]:
    if task.cancelled():
        log.warning("step %s cancelled itself and is skipped", step.name)
        return "failed", None
    error = task.exception()
    if isinstance(error, VoiceError):
        log.warning("step %s failed and is skipped: %s %s", step.name, error, error.hint)
        return "failed", None
    if error is not None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        log.error("step %s is broken: %s at %s:%s", step.name, type(error).__name__, where.filename, where.lineno)
        return "failed", None
    output = task.result()
    if output is None:
        return "nothing", None
    if trouble := output_fault(step, output):
        log.error("step %s is broken: %s", step.name, trouble)
        return "failed", None
    return "done", output


def output_fault(step: MiddlewareStep, output: object) -> str:
    """Return why this cannot be the step's output; empty if it can."""
    right = (Note, Exchange, Aside) if step.stage == "pre" else (Aside,) if step.detached else (Amended, Aside)
    if not isinstance(output, right):
        return f"a {'detached ' * step.detached}{step.stage}-step gives {' or '.join(kind.__name__ for kind in right)}"
    match output:
        case Note(data=data):
            size = _size(data)
        case Exchange(arguments=arguments, result=result):
            size = _size([dict(arguments), dict(result)])
        case _:
            size = 0
    return f"its output is over {OUTPUT_LIMIT} characters" if size > OUTPUT_LIMIT else ""


def _size(data: Any) -> int:
    try:
        return len(quoted(data))
    except (ValueError, TypeError, RecursionError):
        return OUTPUT_LIMIT + 1


BUCKETS_S = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)


class StepMetrics:
    """Counts the outcomes of steps, for the registry that `register_in` names."""

    def __init__(self) -> None:
        self._seconds = Histogram(
            "voice_pipeline_step_seconds",
            "How long steps around turns took, by outcome.",
            ["step", "outcome"],
            buckets=BUCKETS_S,
            registry=None,
        )
        self._lost = Counter(
            "voice_pipeline_turns_dropped", "Turns without post-steps because the queue was full.", registry=None
        )
        self.lost = 0

    def __repr__(self) -> str:
        return f"StepMetrics({self.lost} turns lost)"

    def register_in(self, registry: CollectorRegistry) -> None:
        """Show the counts in `registry`, and thus in `/metrics`."""
        for metric in (self._seconds, self._lost):
            registry.register(metric)

    def ran(self, outcomes: Iterable[StepOutcome]) -> None:
        """Count the outcomes of steps that have run."""
        for outcome in outcomes:
            self._seconds.labels(outcome.name, outcome.kind).observe(outcome.elapsed_s)

    def dropped(self) -> None:
        """Count a turn that gets no post-steps."""
        self.lost += 1
        self._lost.inc()
