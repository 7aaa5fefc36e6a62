"""What the server asks of its model besides answers, by rules. The prompt that asks tells which it is. Pure.

A reasoner has a critic, who agrees, and an executor, who delivers. The coordinator tells what came of long work. A
search is reported from what it found, a caller's last questions are noted, and a user's due notes are brought up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from backend.extensions.local.chat.arguments import topic_of
from backend.extensions.local.chat.asked import Asked
from backend.extensions.local.chat.calls import call_of
from backend.extensions.local.chat.facts import recall
from backend.extensions.local.chat.telling import ASIDE, told
from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.rules import Thought
from backend.realtime.serving.parts import Call

_TASK = re.compile(
    r'^You carry out (?:instructions, one at a time|the whole task)\b[\s\S]*^The task as a whole \(data\):\n(".*")$',
    re.MULTILINE,
)
_DUE = re.compile(r"^Notes of the user's that are due\b.*\(data\):\n(\[.*\])$", re.MULTILINE)
_FINDINGS = re.compile(r"^Findings \(data\):\s*", re.MULTILINE)
_CANCEL = re.compile(r"\b(?:cancel|stop|forget)\b.*\b(?:research|task|search)\b", re.IGNORECASE)
_FEELINGS = (("praise", r"\b(?:great|well done|love it)\b"), ("complaint", r"\b(?:too slow|wrong|useless|annoying)\b"))


def duty(asked: Asked, *, may_act: bool) -> Thought | None:
    """What is said or done by a critic, a coordinator, and who keeps notes or reports a search; None for anybody else.

    The critic is content: rules would only work it out the same way once more. The notes list the last questions.
    """
    if "You check an answer before it is given" in asked.known:
        return Thought("CORRECT")
    if "You coordinate a user's long-running work" in asked.known:
        return _coordinated(asked.sentence, may_act=may_act)
    if "You keep the notes that a voice assistant has" in asked.known:
        old, said = [json.loads(line) for line in asked.sentence.splitlines() if line[:1] in ("{", "[")]
        new = "; ".join([each["text"][:80].strip(" .?!") for each in said if each["role"] == "caller"][-6:])
        summary = f"Has asked: {new}." if new else str(old["summary"] or "")
        return Thought(json.dumps({"summary": summary, "facts": []}, ensure_ascii=False))
    question, *findings = _FINDINGS.split(asked.sentence, maxsplit=1)
    said = _report(question, findings[0]) if findings else ""
    return Thought(said) if said else None


def task_of(known: str) -> str | None:
    """An executor's task; None for whoever is none."""
    found = _TASK.search(known)
    return str(json.loads(found[1])) if found else None


def with_due_notes(answer: str, known: str) -> str:
    """The answer, and those of the notes in the instructions that it does not speak of yet."""
    found = _DUE.search(known)
    texts = [str(note["text"]).rstrip(".") for note in json.loads(found[1])] if found else []
    due = [text for text in texts if text.casefold() not in answer.casefold()]
    return f"{answer} By the way, you have noted: {'; '.join(due)}." if due else answer


def _report(question: str, lines: str) -> str:
    """What a search found where. A line is a JSON object: `{"query", "source", "found": a tool's result}`."""
    findings = [each for each in map(wording.read, lines.splitlines()) if isinstance(each, dict)]
    if not findings and lines.strip() != "none":
        return ""  # somebody else's words
    said = []
    for found, source in ((each["found"], each["source"]) for each in findings):
        if any(value for key, value in found.items() if isinstance(value, list) and key not in ASIDE):
            said.append(
                f"From {source}{', which is sample data' if found.get('sample') else ''}: {told(question, found)}"
            )
    if failed := [each["source"] for each in findings if "error" in each["found"]]:
        said.append(f"I could not search {wording.joined(failed)}.")
    return " ".join(said) or "I found nothing about that in any source."


def _coordinated(shown: str, *, may_act: bool) -> Thought:
    """A coordinator's calls, or its words once they are made, about what has happened (`coordinator/decider.py`)."""
    read = json.loads(shown)
    events = [event for event in read["happened"] if "state" in event or event.get("mode") == "api"]
    decided = [_decided(event, read["tasks"]) for event in events]
    calls = tuple(call for _, call in decided if call)
    return Thought(calls=calls) if calls and may_act else Thought(" ".join(words for words, _ in decided) or "NOTHING")


def _decided(event: Mapping[str, Any], tasks: list[Any]) -> tuple[str, Call | None]:
    """What is said, and what is done, about one thing that has happened."""
    if "state" in event:
        gist, about = wording.gist(str(event["result"]))[:900], event["instruction"].strip(" .?!")
        words = f"Done: {about}." if event["state"] == "done" else f"I could not finish: {about}."
        call = call_of("summarize_task_result", {"task_id": event["task_id"], "summary": gist or words})
        return f"{words} {gist}".strip(), call
    words = event["input"].strip()
    if feeling := next((name for name, felt in _FEELINGS if re.search(felt, words, re.IGNORECASE)), ""):
        return "Thank you, I have noted that.", call_of("capture_feedback", {"feeling": feeling, "text": words[:200]})
    if (subject := topic_of(words)) != wording.without_courtesies(words):
        call = call_of("create_task", {"kind": "research", "instruction": words})
        return f"I have begun to look into {subject}.", call
    if _CANCEL.search(words):
        running = next((task["id"] for task in tasks if task["state"] in ("queued", "running")), "")
        return "I have stopped that.", call_of("cancel_task", {"task_id": running}) if running else None
    return recall(words), None
