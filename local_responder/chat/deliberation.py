"""The parts a reasoner gives to models, played by rules: a critic who agrees, a planner, and an executor who delivers.

Which part it is, is said in the system prompt; the task of an executor stands there, too, as a JSON string.
"""

from __future__ import annotations

import json
import re

_CRITIC = re.compile(r"^You check an answer before it is given\b", re.MULTILINE)
_PLANNER = re.compile(r"^You plan the work of an executor\b", re.MULTILINE)
_EXECUTOR = re.compile(r"^You carry out instructions, one at a time\b", re.MULTILINE)
_TASK = re.compile(r'^The task as a whole \(data\):\n(".*")$', re.MULTILINE)
INSTRUCTION = "Work the whole task out with your tools, then deliver the result."


def part_played(known: str) -> str | None:
    """What a critic or a planner says; None for everybody else."""
    if _CRITIC.search(known):
        return "CORRECT"  # rules that worked the answer out would only work it out the same way
    return INSTRUCTION if _PLANNER.search(known) else None


def task_of(known: str) -> str | None:
    """An executor's task; None for whoever is none."""
    found = _TASK.search(known) if _EXECUTOR.search(known) else None
    return str(json.loads(found[1])) if found else None


def delivered(text: str) -> str:
    """An executor's answer between the marks that end the work."""
    return f"<deliverable>{text}</deliverable>"
