"""What becomes of a question without a model: who is asked, and what their tool is given.

A question is right when the Responder hands it to the right Thinker, and that Thinker's rules call the right tool with
the right arguments. Small talk is right when no Thinker is asked. No tool is called.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from backend.extensions.calendar.base import BadEvent
from backend.extensions.calendar.when import parse_days
from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.conversation import of_messages
from backend.extensions.local.dialogue.rules import respond
from backend.notifications.schedule import how_often
from backend.testing.word_errors import normalized
from backend.thinkers.base import Manifest
from backend.thinkers.registry import guide
from backend.tools.base import Tool
from backend.tools.calculate import computed
from backend.tools.discovery import package_modules
from backend.tools.registry import tools_of
from tests.extensions.local.routed.asked import SMALL_TALK, Asked
from tests.extensions.local.routed.fresh import FRESH
from tests.extensions.local.routed.questions import held_out, tuned

MANIFESTS: dict[str, Manifest] = {
    module.MANIFEST.domain: module.MANIFEST
    for module in package_modules("backend.thinkers")
    if hasattr(module, "MANIFEST")
}
TOOLS: dict[str, Tool] = {tool.name: tool for module in package_modules("backend.tools") for tool in tools_of(module)}
GUIDE = guide(MANIFESTS.values(), with_phrases=True)
ROUTE: dict[str, Any] = {
    "name": "route_to_thinker",
    "parameters": {
        "properties": {
            "domain": {"type": "string", "enum": list(MANIFESTS)},
            "query": {"type": "string"},
            "background": {"type": "boolean"},
        }
    },
}
GOAL = 0.85
NOW = datetime(2026, 11, 23, tzinfo=UTC)
SETS: dict[str, tuple[Asked, ...]] = {
    "looked at": tuned(),
    "first held out": held_out(),
    "second held out": FRESH,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question."""

    asked: Asked
    words: str
    """What was asked: as written, or as recognised."""
    domain: str
    calls: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def routed(self) -> bool:
        """Whether the right Thinker was asked."""
        return self.domain == self.asked.domain

    @property
    def right(self) -> bool:
        """Whether its tool was given the right arguments, too."""
        if not self.routed or not self.asked.tool:
            return self.routed
        return any(
            name == self.asked.tool and all(_holds(given, path, wanted) for path, wanted in self.asked.arguments)
            for name, given in self.calls
        )


def outcome_of(asked: Asked, words: str = "") -> Outcome:
    """Ask one question; `words` are how it was recognised, if it was spoken."""
    said = words or asked.words
    history = [(role, text) for before in asked.before for role, text in (("user", before), ("assistant", "Done."))]
    calls = respond(of_messages([*history, ("user", said)]), GUIDE, [ROUTE], NOW.replace(tzinfo=None)).calls
    if not calls:
        return Outcome(asked, said, SMALL_TALK, ())
    route = json.loads(calls[0].arguments)
    manifest = MANIFESTS[route["domain"]]
    messages = [{"role": "system", "content": manifest.prompt}, {"role": "user", "content": route["query"]}]
    if manifest.domain == "research":  # its Thinker plans by itself; the question is all it needs
        return Outcome(asked, said, manifest.domain, ())
    calls = think(messages, [TOOLS[name].schema() for name in manifest.tools]).calls
    made = tuple((each.name, _as_read(each.name, json.loads(each.arguments))) for each in calls)
    return Outcome(asked, said, manifest.domain, made)


def _as_read(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as their tool reads them: the first day of several, and how often a reminder comes."""
    if tool == "calendar_list_events" and "start" in given:
        with suppress(BadEvent):
            first, last = parse_days(given["start"], NOW, None)
            if first != last:
                return given | {"start": f"{first:%A}"}
            return given | {"start": "today"} if first == NOW.date() else given
    if tool == "reminders" and "at" in given:
        at, repeat = how_often(given["at"])
        return given | {"at": at, "repeat": repeat}
    return given


def _holds(given: dict[str, Any], path: str, wanted: str) -> bool:
    value: Any = given
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if wanted.startswith("="):
        return abs(float(computed(str(value))) - float(wanted[1:])) < 0.01 if value else False
    if isinstance(value, int | float):
        return float(value) == float(wanted)
    return f" {_spelled(wanted)}" in f" {_spelled(str(value))}"


def _spelled(text: str) -> str:
    """Return a text in one spelling: a recognizer writes "6" for "six"."""
    return " ".join(normalized(text))


def rate(outcomes: Sequence[Outcome]) -> float:
    """The share that is right."""
    return sum(each.right for each in outcomes) / len(outcomes)
