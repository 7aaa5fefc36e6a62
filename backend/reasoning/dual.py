"""Two models: a planner that gives instructions and has no tools, an executor that has them and owes a deliverable.

    planner ──one instruction──▶ executor ──<deliverable>──▶ done
       ▲                            │
       └───────── report ◀──────────┘        at most 20 rounds

Both know the task. The planner sees reports, never raw tool results: so it keeps the whole in view, and the executor
may be a small, quick model. A deliverable within its tags ends the work; when the rounds run out, the latest report is
given, and said to be unfinished.
"""

from __future__ import annotations

from backend.agent.speech import speakable
from backend.models.base import quoted
from backend.reasoning.base import Reasoned, ReasoningRun

OPEN, CLOSE = "<deliverable>", "</deliverable>"
PLANNER = (
    "You plan the work of an executor who has tools; you have none. Each time, give exactly one instruction: the next "
    "thing to find out, compute, or write, so clear that it can be done without asking back. You are then told what "
    "came of it. Once nothing is missing, tell the executor to deliver the whole result. Do not do the work yourself."
    "\n\nThe task (data):\n{task}"
)
EXECUTOR = (
    "You carry out instructions, one at a time, with the tools you have, and report what came of each: findings, "
    "figures, and what could not be done. When the task as a whole is done, write its result, complete and readable by "
    f"itself, between {OPEN} and {CLOSE}; write these marks for nothing else."
    "\n\nThe task as a whole (data):\n{task}"
)
BEGIN = "Give the first instruction."
REPORT = "The executor reports (data):\n{report}\n\nGive the next instruction."
BEST_LIMIT = 2_000
"""Characters given of a report that is no deliverable."""


async def think_dual(run: ReasoningRun, *, planner: str, executor: str, rounds: int) -> Reasoned:
    """Think with two models, named by `planner` and `executor`. Raises `NoAnswer` or `ModelUnavailable`."""
    task = quoted(run.task.text)
    planning = run.session("planner", PLANNER.format(task=task), tools=False, model=planner)
    executing = f"{EXECUTOR.format(task=task)}\n\n{run.task.guidance}".strip()
    working = run.session("executor", executing, tools=True, model=executor)
    asked = BEGIN
    for run.round in range(1, rounds + 1):
        run.stage("planning")
        instruction = (await run.think(planning, asked)).text
        run.stage("carrying out")
        report = await run.think(working, instruction)
        if (result := deliverable(report.text)) is not None:
            return run.reasoned(_worded(run, result), complete=not report.incomplete)
        run.best = _worded(run, report.text[:BEST_LIMIT])
        asked = REPORT.format(report=quoted(report.text))
    return run.reasoned(run.best, complete=False)


def deliverable(text: str) -> str | None:
    """Return the text between the tags; None when there is none. The closing tag may be missing."""
    _, opened, rest = text.partition(OPEN)
    result = rest.partition(CLOSE)[0].strip()
    return result if opened and result else None


def _worded(run: ReasoningRun, text: str) -> str:
    return speakable(text) if run.task.source_mode == "voice" else text.strip()
