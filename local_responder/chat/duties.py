"""What the server asks of its model besides answers, by rules. The prompt that asks tells which it is. Pure.

A reasoner has a critic, who agrees, a planner, and an executor, who delivers. The coordinator tells what came of long
work. A search is reported from what it found, notes of a caller are written, and a user's due notes are brought up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.arguments import topic_of
from local_responder.chat.asked import Asked
from local_responder.chat.calls import call_of
from local_responder.chat.facts import recall
from local_responder.chat.telling import ASIDE, subject_of, told
from local_responder.dialogue import wording
from local_responder.dialogue.rules import Thought
from local_responder.realtime.parts import Call

TOPICS_KEPT = 6
"""Questions named in the notes of a caller, the newest last."""
WORDS_KEPT = 12
"""Words kept of one question."""
_PARTS = {
    "You plan the work of an executor": "Work the whole task out with your tools, then deliver the result.",
    "You check an answer before it is given": "CORRECT",  # rules would only work it out the same way once more
}
_TASK = re.compile(
    r'^You carry out (?:instructions, one at a time|the whole task)\b[\s\S]*^The task as a whole \(data\):\n(".*")$',
    re.MULTILINE,
)
_DUE = re.compile(r"^Notes of the user's that are due\b.*\(data\):\n(\[.*\])$", re.MULTILINE)
_FINDINGS = re.compile(r"^Findings \(data\):\s*", re.MULTILINE)
_PLACES = {"web": "the web", "news": "the news", "documents": "the documents", "medicine": "medical research"}
"""Where it was looked, and how the place is said."""
_CANCEL = re.compile(r"\b(?:cancel|stop|forget)\b.*\b(?:research|task|search)\b", re.IGNORECASE)
_FEELINGS = (("praise", r"\b(?:great|well done|love it)\b"), ("complaint", r"\b(?:too slow|wrong|useless|annoying)\b"))


def part_played(known: str) -> str | None:
    """What a critic or a planner says; None for everybody else."""
    return next((said for begun, said in _PARTS.items() if begun in known), None)


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


def coordinated(asked: Asked, *, may_act: bool) -> Thought | None:
    """A coordinator's calls, or words, about what has happened (`coordinator/decider.py`); None for everybody else."""
    if "You coordinate a user's long-running work" not in asked.known:
        return None
    read = wording.read(asked.sentence)
    shown: Mapping[str, Any] = read if isinstance(read, dict) else {}
    happened, tasks = shown.get("happened") or [], shown.get("tasks") or []
    decided = [_decided(event, tasks) for event in happened if "state" in event or event.get("mode") == "api"]
    calls = tuple(call for _, call in decided if call)
    return Thought(calls=calls) if calls and may_act else Thought(" ".join(words for words, _ in decided) or "NOTHING")


def notes(asked: Asked) -> str:
    """Asked for notes of a caller: JSON of what they asked, beside the old notes; else ''."""
    if not re.search(r"JSON object.*\"summary\".*\"facts\"", asked.known, re.DOTALL):
        return ""
    try:
        old, said = [json.loads(line) for line in asked.sentence.splitlines() if line[:1] in ("{", "[")]
        before = str(old["summary"]).removeprefix("Has asked: ").rstrip(".").split("; ") if old["summary"] else []
        new = [" ".join(line["text"].split()[:WORDS_KEPT]).strip(" .?!") for line in said if line["role"] == "caller"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    topics = [topic.replace(";", ",") for topic in dict.fromkeys([*before, *new]) if topic][-TOPICS_KEPT:]
    summary = f"Has asked: {'; '.join(topics)}." if topics else ""
    return json.dumps({"summary": summary, "facts": []}, ensure_ascii=False)


def report(asked: Asked) -> str:
    """What a search found where; '' for a question without findings.

    They stand under the question, one JSON object a line: `{"query", "source", "found": a tool's result}`.
    """
    question, *rest = _FINDINGS.split(asked.sentence, maxsplit=1)
    read = map(wording.read, rest[0].splitlines()) if rest else ()
    findings = [each for each in read if isinstance(each, dict)]  # a line that was cut short is none
    if not findings and (not rest or rest[0].strip() != "none"):
        return ""
    lines = [_found(Asked(question, asked.known), _PLACES[each["source"]], each["found"]) for each in findings]
    if failed := [_PLACES[each["source"]] for each in findings if "error" in each["found"]]:
        lines.append(f"I could not search {wording.joined(failed)}.")
    return " ".join(filter(None, lines)) or "I found nothing about that in any source."


def _found(asked: Asked, place: str, found: Mapping[str, Any]) -> str:
    """One place's best finding; '' when it has none."""
    has_some = any(value for key, value in found.items() if isinstance(value, list) and key not in ASIDE)
    sample = ", which is sample data" if found.get("sample") is True else ""
    words = told(asked, "", found).removeprefix("Here are the headlines. ") if has_some else ""
    return f"From {place}{sample}: {words}" if words else ""


def _decided(event: Mapping[str, Any], tasks: list[Any]) -> tuple[str, Call | None]:
    """What is said, and what is done, about one thing that has happened."""
    if "state" in event:
        done = event["state"] == "done"
        words = f"Done: {subject_of(event)}. {_gist(event)}" if done else ""
        call = call_of("summarize_task_result", {"task_id": event["task_id"], "summary": _gist(event)})
        return words or f"I could not finish: {subject_of(event)}. {event['result']}", call
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


def _gist(event: Mapping[str, Any]) -> str:
    return wording.gist(str(event["result"]))[:900] or "There is no answer."
