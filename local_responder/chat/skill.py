"""What a skill is, and how the ones in `skills/` are found."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from backend.errors import BadPlugin
from local_responder.chat import skills

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a skill may look at."""

    sentence: str
    """The last user message."""
    known: str
    """All system messages: what the caller told the model beforehand."""


@dataclass(frozen=True, slots=True)
class Skill:
    """How one kind of tool is used by rules."""

    tool: re.Pattern[str]
    """Matches the names of the tools it knows."""
    fits: Callable[[str], bool]
    """Whether a sentence calls for it."""
    fill: Callable[[Asked, Mapping[str, Any]], list[Arguments]]
    """The arguments of each call, named by the tool's JSON schema; [] when something needed is missing."""
    missing: str
    """What to ask then."""
    word: Callable[[Asked, Mapping[str, Any]], str]
    """A tool's result as a short spoken answer. May raise KeyError or TypeError on a result it does not know."""
    then: Callable[[Asked, Mapping[str, Any]], tuple[str, Arguments] | None] = lambda asked, result: None
    """The call that a result leads to, where one tool only finds what another needs; None when it is the answer."""
    last_resort: bool = False
    """Fits any sentence, and so gives way to every other skill that fits."""


@cache
def all_skills() -> tuple[Skill, ...]:
    """Every skill in `skills/`, by file name, the last resorts last. Raises `BadPlugin`."""
    found: list[Skill] = []
    for entry in sorted(pkgutil.iter_modules(skills.__path__), key=lambda each: each.name):
        module = importlib.import_module(f"{skills.__name__}.{entry.name}")
        if not isinstance(getattr(module, "SKILL", None), Skill):
            raise BadPlugin(f"{module.__name__} defines no SKILL.")
        found.append(module.SKILL)
    return tuple(sorted(found, key=lambda skill: skill.last_resort))


def skill_for(tool: str) -> Skill | None:
    """The skill that uses a tool of this name."""
    return next((skill for skill in all_skills() if skill.tool.search(tool)), None)


def field_named(schema: Mapping[str, Any], *names: str) -> str | None:
    """The first of `names` that is among the schema's properties."""
    properties = schema.get("properties") or {}
    return next((name for name in names if name in properties), None)
