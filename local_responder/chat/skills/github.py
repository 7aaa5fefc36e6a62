"""Issues on GitHub: `github_issue(action, number?, title?, text?, state?)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill
from local_responder.dialogue.numbers import digits

_MOST = 5
"""Issues or comments that are told."""
_LEAD = re.compile(r"^(?:yes\W+)?(?:please\s+)?(?:can you |could you )?", re.IGNORECASE)
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBER = rf"issue (?:number )?#?(?P<number>\d+|(?:{_TENS})(?:[ -](?:{_ONES}))?|{_TEENS}|{_ONES})\b"
_CREATE = re.compile(
    r"^(?:open|create|file|report|make) (?:an?|a new) issue(?: on github)?"
    r"(?:\s+(?:about|that says|saying|that|called))?[\s:,]+(?P<title>.+)$",
    re.IGNORECASE,
)
_COMMENT = re.compile(rf"^comment on {_NUMBER}(?:\s+(?:that|saying))?[\s:,]+(?P<text>.+)$", re.IGNORECASE)
_CLOSE = re.compile(rf"^close {_NUMBER}", re.IGNORECASE)
_ACT = re.compile(r"^(?:close|comment)\b", re.IGNORECASE)
_ONE = re.compile(_NUMBER, re.IGNORECASE)
_ISSUES = re.compile(r"\bissues?\b|\bgithub\b", re.IGNORECASE)


def _fits(sentence: str) -> bool:
    return bool(_ISSUES.search(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    plain = _LEAD.sub("", asked.sentence.strip(" .!?"))
    if made := _CREATE.search(plain):
        return [{"action": "create", "title": made["title"][0].upper() + made["title"][1:]}]
    if said := _COMMENT.search(plain):
        return [{"action": "comment", "number": _figure(said), "text": said["text"][0].upper() + said["text"][1:]}]
    if closed := _CLOSE.search(plain):
        return [{"action": "close", "number": _figure(closed)}]
    if _ACT.search(plain):
        return []
    if about := _ONE.search(plain):
        action = "list_comments" if re.search(r"\bcomments\b", plain, re.IGNORECASE) else "view"
        return [{"action": action, "number": _figure(about)}]
    return [{"action": "list"} | ({"state": "closed"} if re.search(r"\bclosed\b", plain, re.IGNORECASE) else {})]


def _figure(found: re.Match[str]) -> int:
    return int(digits(found["number"].lower()))


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    for done, words in (("created", "Opened as"), ("commented", "Your comment is on"), ("closed", "I have closed")):
        if done in result:
            already = "That was there already: " if result.get("note") else ""
            return f"{already}{words} issue {result[done]['number']}."
    if "issue" in result:
        issue = result["issue"]
        text = f" {issue['text']}" if issue.get("text") else ""
        return f"Issue {issue['number']}, {issue['state']}: {_closed(issue['title'])}{text}"
    if "comments" in result:
        told = [f"{each['author'] or 'Somebody'} says: {_closed(each['text'])}" for each in result["comments"][-_MOST:]]
        return " ".join(told) or "Nobody has commented on it."
    issues = result["issues"]
    lines = "; ".join(f"{each['number']}, {each['title']}" for each in issues[:_MOST])
    more = "; and more" if result.get("more") or len(issues) > _MOST else ""
    return (
        f"The issues in {result['repo'].partition('/')[2]}: {lines}{more}." if issues else "There are no such issues."
    )


def _closed(text: str) -> str:
    return text if text[-1:] in ".?!" else f"{text}."


SKILL = Skill(
    tool=re.compile(r"^github_issue$"),
    fits=_fits,
    fill=_fill,
    missing="Which issue do you mean, and what should it say?",
    word=_word,
)
