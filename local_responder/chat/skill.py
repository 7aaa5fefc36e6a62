"""What a skill is, how the ones in `skills/` are found, and what they share."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from backend.errors import BadPlugin
from local_responder.chat import skills
from local_responder.dialogue.names import digits

Arguments = dict[str, Any]
Result = Mapping[str, Any]
_LEAD = re.compile(
    r"^(?:(?:yes|okay|ok|please|and|now)\b[\s,]*)*(?:(?:can|could|would|will) you (?:please )?)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a skill may look at."""

    sentence: str
    """The last user message."""
    known: str = ""
    """All system messages: what the caller told the model beforehand."""

    @property
    def plain(self) -> str:
        """The sentence without courtesies and its last mark."""
        return _LEAD.sub("", self.sentence.replace("’", "'").strip(" .!?"))


@dataclass(frozen=True, slots=True)
class Skill:
    """How one kind of tool is used without a model."""

    tool: str
    """A pattern of the names of the tools it knows."""
    fits: Callable[[str], Any]
    """Whether a sentence calls for it, by its words alone."""
    fill: Callable[[Asked, Mapping[str, Any]], list[Arguments]]
    """The arguments of each call, named by the tool's JSON schema; [] when something needed is missing."""
    word: Callable[[Asked, Result], str]
    """A tool's result as a short spoken answer. May raise KeyError or TypeError on a result it does not know."""
    missing: str = ""
    """What to ask when something is missing."""
    then: Callable[[Asked, Result], tuple[str, Arguments] | None] = lambda asked, result: None
    """The call that a result leads to, where one tool only finds what another needs; None when it is the answer."""
    last_resort: bool = False
    """Fits any sentence, and so gives way to every other skill that fits."""


@cache
def all_skills() -> tuple[Skill, ...]:
    """Every skill in `skills/`, by file name, the last resorts last. Raises `BadPlugin`."""
    found: list[Skill] = []
    for entry in sorted(pkgutil.iter_modules(skills.__path__), key=lambda each: each.name):
        module = importlib.import_module(f"{skills.__name__}.{entry.name}")
        if not all(isinstance(each, Skill) for each in getattr(module, "SKILLS", [None])):
            raise BadPlugin(f"{module.__name__} defines no SKILLS.")
        found += module.SKILLS
    return tuple(sorted(found, key=lambda skill: skill.last_resort))


def skill_for(tool: str) -> Skill | None:
    """The skill that uses a tool of this name."""
    return next((skill for skill in all_skills() if re.search(skill.tool, tool)), None)


def having(*words: str) -> Callable[[str], Any]:
    """A test of sentences: whether any of the patterns is in them."""
    return re.compile("|".join(words), re.IGNORECASE).search


def field_named(schema: Mapping[str, Any], *names: str) -> str:
    """The first of `names` that is among the schema's properties; '' for none."""
    return next((name for name in names if name in (schema.get("properties") or {})), "")


def filled(plain: str, forms: Sequence[tuple[str, Arguments]]) -> Arguments | None:
    """The arguments by the first form that fits: its constants, and what its named groups found.

    A group `number` becomes one, `title` and `text` begin with a capital.
    """
    for pattern, constants in forms:
        if found := re.search(pattern, plain, re.IGNORECASE):
            given = {name: _value(name, text) for name, text in found.groupdict().items() if text}
            return constants | given
    return None


def listed(entries: Sequence[Any], word: Callable[[Any], str], most: int = 4) -> str:
    """The first entries, one after the other, and how many there are besides."""
    more = f"; and {len(entries) - most} more" if len(entries) > most else ""
    return "; ".join(map(word, entries[:most])) + more


def _value(name: str, text: str) -> str | int:
    if name == "number":
        return int(digits(text))
    return text[0].upper() + text[1:] if name in ("title", "text") else text
