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

_FINE = re.compile(r"\W*correct\b\W*", re.IGNORECASE)
OPEN, CLOSE = "<deliverable>", "</deliverable>"
BEGIN = "Give the first instruction."
REPORT = "The executor reports (data):\n{report}\n\nGive the next instruction."
BEST_LIMIT = 2_000
"""Characters given of a report that is no deliverable."""


async def think_mono(run: ReasoningRun, *, reflections: int) -> Reasoned:
    """Think with one model. Raises `NoAnswer` or `ModelUnavailable`."""
    task, worded = run.task, run.prompts.worded
    run.stage("drafting")
    drafter = run.session("draft", f"{worded('reasoning/draft')} {task.guidance}".strip(), tools=True)
    draft = await run.think(drafter, task.text, task.source_mode)
    for run.round in range(1, reflections + 1):
        run.best = draft.text
        run.stage("checking the draft")
        critic = run.session("critic", worded("reasoning/critic"), tools=False, situated=False)
        faults = (await run.think(critic, f"{quoted({'task': task.text, 'answer': draft.text})}")).text
        if _FINE.fullmatch(faults):
            break
        run.stage("mending the draft")
        draft = await run.think(drafter, worded("reasoning/again", faults=quoted(faults)), task.source_mode)
    return run.reasoned(draft.text, complete=not draft.incomplete)


async def think_dual(run: ReasoningRun, *, planner: str, executor: str, rounds: int) -> Reasoned:
    """Think with two models, named by `planner` and `executor`. Raises `NoAnswer` or `ModelUnavailable`."""
    task, worded = quoted(run.task.text), run.prompts.worded
    planning = run.session("planner", worded("reasoning/planner", task=task), tools=False, model=planner)
    executing = f"{worded('reasoning/executor', task=task)}\n\n{run.task.guidance}".strip()
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
