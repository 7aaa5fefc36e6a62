"""The wish of a sentence: its verb and time show the action, the subject and the time that it wants. Pure."""

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from backend.extensions.local.dialogue.times import Timed, timed
from backend.extensions.local.dialogue.understanding import ASKS
from backend.extensions.local.dialogue.wording import without_courtesies


class Kind(StrEnum):
    """The kinds of actions that tools offer."""

    MAKE = "make"
    REMOVE = "remove"
    CHANGE = "change"
    FINISH = "finish"
    FIND = "find"


_VERBS = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text("utf-8"))
_SAME = {re.compile(rf"^(?:{'|'.join(said)})\b", re.IGNORECASE): meant for meant, said in _VERBS.pop("same").items()}
_BEGINS = {kind: re.compile(rf"^(?:{'|'.join(entry['begins'])})\b", re.IGNORECASE) for kind, entry in _VERBS.items()}
_HOLDS = {
    kind: re.compile(rf"(?:{'|'.join(entry['holds'])})\b", re.IGNORECASE)
    for kind, entry in _VERBS.items()
    if "holds" in entry
}
ACTIONS: dict[Kind, tuple[str, ...]] = {Kind(kind): tuple(entry["actions"]) for kind, entry in _VERBS.items()}
"""The actions of each kind, those that fit best first."""
ACTIONS[Kind.FIND] = ("view", "search", "list", "get", "")
_THING = r"(?:reminder|alarm|note|idea|issue|bug report|bug|task|instruction|rule)s?"
_LINKED = r"(?:\s*(?::|\b(?:to|of|about|that(?: says)?|saying|called|for|and)\b))*"
ARTICLE = re.compile(r"^(?:an?|the|my)\s+(?=\w)", re.IGNORECASE)
_NEW_THING = re.compile(rf"^(?:(?:me|us|an?|another|new|github)\s+)*(?:{_THING}\b)?{_LINKED}", re.IGNORECASE)
_OLD_THING = re.compile(
    rf"^(?:(?:the|my|that|this|standing|last) )*{_THING}\b{_LINKED}|\s+{_THING}$|^(?:it|that|this)\b\W*(?=$|:)\W*",
    re.IGNORECASE,
)
_IN_CALENDAR = re.compile(r"\s*\b(?:in|into|to|on|from)\s+(?:my|the)\s+(?:calendar|schedule)\b", re.IGNORECASE)
_TARGET = re.compile(r"\s+(?:to|until|till)\s+(?P<target>.+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """The wish of a sentence. A field is empty where the sentence does not say."""

    kind: Kind
    subject: str
    """The entry to create, or the words that name an existing one."""
    time: Timed
    target: str = ""
    """The time to which an entry is moved."""


def plain_of(sentence: str) -> str:
    """Return a sentence without courtesies, and with the usual words at its beginning."""
    plain = without_courtesies(sentence)
    for said, meant in _SAME.items():
        plain = said.sub(meant, plain)
    return plain


def wish_of(sentence: str) -> Wish:
    """Return the wish of a sentence. Its beginning decides: a question is to find, and a statement is to be kept."""
    plain = plain_of(sentence)
    kind = _begun(plain) or _begun(timed(plain).text.lstrip(" ,"))
    if kind is None and (ASKS.search(plain) or ASKS.search(sentence)):  # `plain` may lack the words that ask
        return Wish(Kind.FIND, "", timed(plain))
    kind = kind or Kind.MAKE
    moved = _TARGET.search(plain) if kind is Kind.CHANGE else None
    time = timed(plain[: moved.start()] if moved else plain)
    said = _IN_CALENDAR.sub("", time.text).strip(" ,:")
    about = _HOLDS[kind].split(said)[0] if kind in _HOLDS else said
    about = _BEGINS[kind].sub("", about).strip(" ,:")
    if kind is not Kind.MAKE:
        about = ARTICLE.sub("", _OLD_THING.sub("", about).strip(" ,:"))
    elif about != said:
        about = _NEW_THING.sub("", about)
    return Wish(kind, about.strip(" ,:"), time, moved["target"] if moved else "")


def _begun(plain: str) -> Kind | None:
    """Return the kind of the verb that a sentence begins with, or of the words that it holds."""
    begun = [kind for kind, begins in _BEGINS.items() if begins.match(plain)]
    held = [kind for kind, holds in _HOLDS.items() if holds.search(plain)]
    return Kind((begun + held)[0]) if begun or held else None
