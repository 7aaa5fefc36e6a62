"""Research by rules: a plan of searches when one is asked for in JSON, and a report worded from what they found. Pure.

The findings stand under the question, one JSON object a line: `{"query", "source", "found": a tool's result}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Asked, skill_for
from local_responder.chat.skills.lookup import topic_of

_ASKED_FOR_PLAN = re.compile(r"You plan a search\b.*\bJSON", re.DOTALL)
_FINDINGS = re.compile(r"^Findings \(data\):\s*", re.MULTILINE)
_HEALTH = re.compile(
    r"\b(?:health|medic\w*|disease\w*|vitamins?|patients?|cold|colds|sleep|diet|drugs?)\b", re.IGNORECASE
)
PLACES = {
    # where it was looked: what a search tool of that kind is called, and how the place is said
    "web": ("web_search", "the web"),
    "news": ("get_news_headlines", "the news"),
    "documents": ("kb_search", "the documents"),
    "medicine": ("pubmed_search", "medical research"),
}


def plan(asked: Asked) -> str | None:
    """The searches as JSON, if the model was told to plan; none when some were made already."""
    if not _ASKED_FOR_PLAN.search(asked.known):
        return None
    question = asked.sentence.partition("\n")[0]
    sources = ["web", "news", "documents", *(["medicine"] if _HEALTH.search(question) else [])]
    searches = [] if _FINDINGS.search(asked.sentence) else [{"query": topic_of(question), "sources": sources}]
    return json.dumps({"searches": searches}, ensure_ascii=False)


def report(asked: Asked) -> str | None:
    """What was found where, if the question comes with findings."""
    question, *rest = _FINDINGS.split(asked.sentence, maxsplit=1)
    if not rest:
        return None
    if rest[0].strip() == "none":
        return "I found nothing about that in any source."
    findings = [finding for line in rest[0].splitlines() if (finding := _read(line))]
    if not findings:
        return None  # material of another kind
    told = [words for finding in findings if (words := _told(question, asked.known, finding))]
    unreachable = [PLACES[each["source"]][1] for each in findings if each["found"].get("error")]
    if unreachable:
        told.append(f"I could not search {_joined(unreachable)}.")
    return " ".join(told) or "I found nothing about that in any source."


def _read(line: str) -> dict[str, Any] | None:
    """A finding; None for a line that is not one, e.g. because it was cut short."""
    try:
        finding = json.loads(line)
    except ValueError:
        return None
    usable = isinstance(finding, dict) and finding.get("source") in PLACES and isinstance(finding.get("found"), dict)
    return finding if usable else None


def _told(question: str, known: str, finding: Mapping[str, Any]) -> str:
    """One place's best finding; '' when it has none."""
    tool, place = PLACES[finding["source"]]
    found = finding["found"]
    lists = [value for value in found.values() if isinstance(value, list)]
    if found.get("error") or not any(lists):
        return ""
    skill = skill_for(tool)
    try:
        words = skill.word(Asked(question, known), found) if skill else ""
    except (KeyError, TypeError, AttributeError):
        return ""
    if not words:
        return ""
    sample = ", which is sample data" if found.get("sample") is True else ""
    return f"From {place}{sample}: {words.removeprefix('Here are the headlines. ')}"


def _joined(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " and ".join(filter(None, (", ".join(distinct[:-1]), distinct[-1])))
