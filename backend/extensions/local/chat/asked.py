"""What a sentence asks of tools: which action, what it is about, and when. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from backend.extensions.local.dialogue.times import Timed, timed
from backend.extensions.local.dialogue.understanding import ASKS
from backend.extensions.local.dialogue.wording import without_courtesies

CHANGES = ("update", "cancel", "delete", "snooze", "resolve")
"""Actions on something that is there already."""
_REPHRASED = (
    # what is said in other words, and the words that the rules know
    (r"^(?:i(?: have|'ve)?(?: got)?|there is) (.+?),? (?:put|add|enter|write) (?:it|that)\b.*$", r"add \1"),
    (r"^(?:(?:don't|do not|never) let me forget|i mustn't forget|be reminded)\b", "remind me"),
    (r"^wake me(?: up)?\b", "remind me to wake up"),
    (r"\ban alarm\b", "a reminder"),
    (r"^(?:add|write|leave|post) a comment (?:to|on)\b", "comment on"),
    (r"^(?:write|jot|take)(?: this)? down\b", "note"),
    (r"^((?:snooze|postpone|put)\b.*) for (?=(?:an?|half an|\w+) (?:minute|hour|day|week))", r"\1 until in "),
)
_THING = r"(?:reminder|note|idea|issue|bug report|bug)"
_CREATE = (
    r"^(?:(?!what).*?\bremind me|.*\b(?:need|want|get|give me) a reminder|"
    r"(?:add|put|book|block|create|enter|new|plan|save|schedule|set(?: up)?|make|open(?! (?:issue|ticket).*\d)|file|"
    r"report|take|write|keep|note)\b"
    rf"(?: me)?(?:(?: an?)?(?: \w+)? {_THING}\b)?(?: for me)?(?: on github)?)\b"
    r"(?:\s+(?:to|of|about|that(?: says)?|saying|called|for|and)\b)*"
)
_ACTIONS = {
    # the actions that tools offer, and what calls for them; of several the first counts
    "snooze": r"\b(?:snooze|postpone)\b|\bput (?:(?:it|that|the .+ note) )?off\b",
    "create": _CREATE,
    "list_comments": r"\bcomment(?:s|ed)\b",
    "comment": r"^(?:comment on|reply to|answer)\b",
    "resolve": r"\b(?:resolve|mark|tick off|check off)\b|"
    r"(?:'s| is| has been)(?: all| already)? (?:done|finished|sorted|taken care of)\b",
    "close": r"^close\b|\bcan be closed\b",
    "update": r"^(?:move|reschedule|change|push|shift)\b",
    "delete": r"^(?:cancel|delete|remove|call off)\b",
    "cancel": r"\b(?:cancel|abort|delete|remove|forget|stop|drop|get rid of|do(?:n't| not) have to)\b",
    "view": r"\d",
    "list": r"\b(?:tasks|which|list|everything|busy|working on)\b",
    "get": "",
}
ACTIONS = frozenset(_ACTIONS)
_SUBJECT = re.compile(
    rf"{_CREATE}[\s:,]+|^(?:comment on|reply to|answer)\D*\d+(?:\s+(?:that|saying|with))*[\s:,]+|"
    r"^(?:move|reschedule|change|push|shift|cancel|delete|remove|call off)\s+",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"\b(?:the|my) (?!last|open|due)(?P<before>[\w' -]+?) {_THING}\b|"
    rf"\b{_THING}s? (?:about|on|of|to|for) (?:the |my )?(?P<after>[\w' -]+?)(?= (?:is|until|as)\b|$)",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"\s*\b(?:in|into|to|on|from)\s+(?:my|the)\s+(?:calendar|schedule)\b", re.IGNORECASE)
_TARGET = re.compile(r"\s+(?:to|until|till)\s+(?P<target>.+)$", re.IGNORECASE)
_OF_THING = re.compile(rf"\b{_THING}s?\b|\b(?:it|that)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What may be looked at."""

    sentence: str
    """The last user message."""
    known: str = ""
    """All system messages: what the caller told the model beforehand."""

    @property
    def plain(self) -> str:
        """The sentence without courtesies and its last mark."""
        plain = without_courtesies(self.sentence)
        for said, meant in _REPHRASED:
            plain = re.sub(said, meant, plain, flags=re.IGNORECASE)
        return plain


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done. Empty where the sentence does not say."""

    action: str
    subject: str
    """What is to be created, or which of those that are there is meant."""
    time: Timed
    target: str = ""
    """To when something is moved."""


def wish_of(plain: str, actions: Collection[str], *, times: bool = True) -> Wish:
    """Return what is to be done with a tool that offers these actions, and whether it has to do with `times`."""
    called_for = (name for name, said in _ACTIONS.items() if name in actions and re.search(said, plain, re.IGNORECASE))
    action = next(called_for, "list" if "list" in actions else "")
    moved = _TARGET.search(plain) if action in ("update", "snooze") else None
    target = moved["target"] if moved else ""
    said = plain[: moved.start()] if moved else plain
    time = timed(said) if times else Timed(said)
    if action == "list" and "create" in actions and time.has_hour and not ASKS.match(plain):
        return Wish("create", _CALENDAR.sub("", time.text).strip(" ,"), time)  # "lunch with Ben on Friday at noon"
    if named := _NAMED.search(said) if action in CHANGES else None:
        return Wish(action, (named["before"] or named["after"]).strip(), time, target)
    begun = _SUBJECT.match(text := f"{_CALENDAR.sub('', time.text)} ")
    subject = text[begun.end() :].strip(" ,") if begun else ""
    about_it = action in CHANGES and _OF_THING.search(subject)
    return Wish(action, "" if about_it else subject, time, target)
