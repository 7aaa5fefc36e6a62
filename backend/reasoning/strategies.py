"""The two ways to think a task through: with one model that looks its own work through, or with two.

    mono: draft (tools) ──▶ critique (no tools) ──▶ nothing wrong ──▶ the draft, as it is
                                  ▲                 faults ──▶ better draft (tools) ──┐
                                  └──────────── at most `reflections` times ◀─────────┘

The critic is a conversation of its own: it sees the task and the draft, and none of the reasons the drafter gave
itself, so that it cannot be talked into them.

    dual: planner ──one instruction──▶ executor ──<deliverable>──▶ done
             ▲                            │
             └───────── report ◀──────────┘        at most 20 rounds

The planner has no tools, the executor has them and owes a deliverable; both know the task. The planner sees reports,
never raw tool results: so it keeps the whole in view, and the executor may be a small, quick model. A deliverable
within its tags ends the work; when the rounds run out, the latest report is given, and said to be unfinished.
"""

from __future__ import annotations

import re

from backend.agent.speech import speakable
from backend.models.base import quoted
from backend.reasoning.base import Reasoned, ReasoningRun

DRAFT = (
    "Think the task through carefully, step by step, and check every step before you go on. Use the tools for what "
    "must be looked up. Then answer: the result first, and as much of the way there as is needed to follow it."
)
CRITIC = (
    "You check an answer before it is given. The task and the answer follow as data. Work the task out for yourself "
    "and compare: wrong facts or sums, steps that do not follow, parts of the task left out, claims without support. "
    "If nothing is wrong, reply with the single word CORRECT. Else list the faults, one short line each, and nothing "
    "more."
)
AGAIN = (
    "Somebody has checked your answer and names these faults (data):\n{faults}\nWeigh each: some may be mistaken. Then "
    "give the whole answer anew, as if for the first time, without a word about this check."
)
_FINE = re.compile(r"\W*correct\b\W*", re.IGNORECASE)
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


async def think_mono(run: ReasoningRun, *, reflections: int) -> Reasoned:
    """Think with one model. Raises `NoAnswer` or `ModelUnavailable`."""
    task = run.task
    run.stage("drafting")
    drafter = run.session("draft", f"{DRAFT} {task.guidance}".strip(), tools=True)
    draft = await run.think(drafter, task.text, task.source_mode)
    for run.round in range(1, reflections + 1):
        run.best = draft.text
        run.stage("checking the draft")
        critic = run.session("critic", CRITIC, tools=False, situated=False)
        faults = (await run.think(critic, f"{quoted({'task': task.text, 'answer': draft.text})}")).text
        if _FINE.fullmatch(faults):
            break
        run.stage("mending the draft")
        draft = await run.think(drafter, AGAIN.format(faults=quoted(faults)), task.source_mode)
    return run.reasoned(draft.text, complete=not draft.incomplete)


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
