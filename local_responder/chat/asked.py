"""What a sentence asks of tools: which action, what it is about, and when. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from local_responder.dialogue.keeping import Keeping, keeping
from local_responder.dialogue.times import Timed, timed

CHANGES = ("update", "cancel", "delete", "snooze", "resolve")
"""Actions on something that is there already."""
_LEAD = re.compile(
    r"^(?:(?:yes|okay|ok|please|and|now)\b[\s,]*)*(?:(?:can|could|would|will) you (?:please )?)?", re.IGNORECASE
)
_ENTER = re.compile(
    r"^(?:i(?: have|'ve)?(?: got)?|there is) (?P<what>.+?),? (?:put|add|enter|write) (?:it|that)\b.*$", re.IGNORECASE
)
_THING = r"(?:reminder|note|idea|issue|bug report|bug)"
_CREATE = (
    r"^(?:.*?\b(?:remind (?:me|her)|let me forget|(?:need|want) a reminder)|note(?: down)?|"
    r"(?:add|put|book|create|enter|schedule|set(?: up)?|make|open|file|report|take|write|jot|keep)\b(?: me)?"
    rf"(?: this)?(?: down)?(?: an?(?: new)? {_THING}\b)?(?: for me)?(?: on github)?)\b"
    r"(?:\s+(?:to|of|about|that(?: says)?|saying|called|for|and)\b)*"
)
_ACTIONS: tuple[tuple[str, str], ...] = (
    # the actions that tools offer, and what calls for them; of several the first counts
    ("snooze", r"\b(?:snooze|postpone)\b|\bput (?:(?:it|that|the .+ note) )?off\b"),
    ("create", _CREATE),
    ("list_comments", r"\bcomment(?:s|ed)\b"),
    ("comment", r"^(?:comment on|reply to|answer)\b"),
    (
        "resolve",
        r"\b(?:resolve|mark|tick off|check off)\b|"
        r"(?:'s| is| has been)(?: all| already)? (?:done|finished|sorted|taken care of)\b",
    ),
    ("close", r"^close\b"),
    ("update", r"^(?:move|reschedule|change)\b"),
    ("delete", r"^(?:cancel|delete|remove)\b"),
    ("cancel", r"\b(?:cancel|abort|delete|remove|forget|stop|drop|get rid of)\b"),
    ("view", r"\d"),
    ("list", r"\b(?:tasks|which|list|everything|in the background)\b"),
    ("get", ""),
    ("list", ""),
)
ACTIONS = frozenset(name for name, _ in _ACTIONS)
_SUBJECT = re.compile(
    rf"{_CREATE}[\s:,]+|^(?:comment on|reply to|answer)\D*\d+(?:\s+(?:that|saying|with))*[\s:,]+|"
    r"^(?:move|reschedule|change|cancel|delete|remove)\s+",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"\b(?:the|my) (?!last|open|due)(?P<before>[\w' -]+?) {_THING}\b|"
    rf"\b{_THING}s? (?:about|on|of|to|for) (?:the |my )?(?P<after>[\w' -]+?)(?= (?:is|until|as)\b|$)",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"\s*\b(?:in|into|to|on|from)\s+(?:my|the)\s+(?:calendar|schedule)\b", re.IGNORECASE)
_LOOKS = re.compile(
    r"^(?:what|when|who|where|which|how|is|are|am|do|does|will|any|anything|list|read|show|tell|give|check)\b", re.I
)
"""What begins a question about a calendar; "lunch with Ben on Friday at noon" is to be entered."""
_TARGET = re.compile(r"\s+(?:to|until|till)\s+(?P<target>.+)$", re.IGNORECASE)
_LENGTH = re.compile(r"\s+for\s+(?P<target>.+)$", re.IGNORECASE)
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
        plain = _LEAD.sub("", self.sentence.replace("’", "'").strip(" .!?"))
        return _ENTER.sub(r"add \g<what>", plain)

    @property
    def kept(self) -> Keeping | None:
        """What it wants of the memory."""
        return keeping(self.sentence)


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
    action = next(
        (name for name, called in _ACTIONS if name in actions and re.search(called, plain, re.IGNORECASE)), ""
    )
    to = _TARGET.search(plain) if action in ("update", "snooze") else None
    length = _LENGTH.search(plain) if action == "snooze" and not to else None
    target = to["target"] if to else f"in {length['target']}" if length else ""
    said = plain[: found.start()] if (found := to or length) else plain
    time = timed(said) if times else Timed(said)
    if action == "list" and "create" in actions and time.hour and not _LOOKS.match(plain):
        return Wish("create", _CALENDAR.sub("", time.text).strip(" ,"), time)
    if named := _NAMED.search(said) if action in CHANGES else None:
        return Wish(action, (named["before"] or named["after"]).strip(), time, target)
    begun = _SUBJECT.match(text := f"{_CALENDAR.sub('', time.text)} ")
    subject = text[begun.end() :].strip(" ,") if begun else ""
    about_it = action in CHANGES and _OF_THING.search(subject)
    return Wish(action, "" if about_it else subject, time, target)
