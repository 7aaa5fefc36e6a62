"""Issues on GitHub: `github_issue(action, number?, title?, text?, state?)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, filled, having, listed
from local_responder.dialogue.names import digits
from local_responder.dialogue.wording import closed

_NUMBER = r"issue (?:number )?#?(?P<number>\d+)\b"
_FORMS: tuple[tuple[str, Arguments], ...] = (
    (
        r"^(?:open|create|file|report|make) (?:an?|a new) (?:issue|bug)(?: report)?(?: on github)?"
        r"(?:\s+(?:about|that says|saying|that|called))?[\s:,]+(?P<title>.+)$",
        {"action": "create"},
    ),
    (
        rf"^(?:comment on|reply to|answer) {_NUMBER}(?:\s+(?:that|saying|with))*[\s:,]+(?P<text>.+)$",
        {"action": "comment"},
    ),
    (rf"^close {_NUMBER}", {"action": "close"}),
    (rf"\bcomments\b.*{_NUMBER}", {"action": "list_comments"}),
    (r"^(?:close|comment)\b(?P<refused>)", {}),
    (_NUMBER, {"action": "view"}),
    (r"\bclosed\b", {"action": "list", "state": "closed"}),
    (r"", {"action": "list"}),
)
_DONE = (("created", "Opened as"), ("commented", "Your comment is on"), ("closed", "I have closed"))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    said = digits(asked.plain) if having(r"\bissue (?:number )?\w+")(asked.plain) else asked.plain
    arguments = filled(said, _FORMS)
    return [arguments] if arguments else []


def _word(asked: Asked, result: Result) -> str:
    for done, words in _DONE:
        if done in result:
            already = "That was there already: " if result.get("note") else ""
            return f"{already}{words} issue {result[done]['number']}."
    if "issue" in result:
        issue = result["issue"]
        text = f" {issue['text']}" if issue.get("text") else ""
        return f"Issue {issue['number']}, {issue['state']}: {closed(issue['title'])}{text}"
    if "comments" in result:
        told = [f"{each['author'] or 'Somebody'} says: {closed(each['text'])}" for each in result["comments"][-5:]]
        return " ".join(told) or "Nobody has commented on it."
    lines = listed(result["issues"][:5], lambda each: f"{each['number']}, {each['title']}", 5)
    more = "; and more" if result.get("more") or len(result["issues"]) > 5 else ""
    return f"The issues in {result['repo'].partition('/')[2]}: {lines}{more}." if lines else "There are no such issues."


SKILLS = (
    Skill(
        tool=r"^github_issue$",
        fits=having(r"\bissues?\b|\bgithub\b"),
        fill=_fill,
        word=_word,
        missing="Which issue do you mean, and what should it say?",
    ),
)
