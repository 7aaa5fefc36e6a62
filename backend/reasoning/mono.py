"""One model that looks its own work through: draft, critique, and a final answer where the critique found something.

    draft (tools) ──▶ critique (no tools) ──▶ nothing wrong ──▶ the draft, as it is
                            ▲                 faults ──▶ better draft (tools) ──┐
                            └──────────── at most `reflections` times ◀─────────┘

The critic is a conversation of its own: it sees the task and the draft, and none of the reasons the drafter gave
itself, so that it cannot be talked into them.
"""

from __future__ import annotations

import re

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
