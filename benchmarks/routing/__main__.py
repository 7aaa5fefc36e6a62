"""`python -m benchmarks.routing`: asks every question without a model, and prints who answered, with what arguments.

A question is right when the Responder hands it to the right Thinker, and that Thinker's rules call the right tool with
the right arguments; small talk is right when nobody is asked. Nothing is measured in time, and no tool is called.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from backend.errors import BadMoment
from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue import small_talk
from backend.extensions.local.dialogue.conversation import of_messages
from backend.extensions.local.dialogue.routing import router_of, routing_of
from backend.extensions.local.dialogue.rules import respond
from backend.language.dates import parse_days
from backend.notifications.schedule import how_often
from backend.thinkers.base import Manifest
from backend.thinkers.registry import guide
from backend.tools.base import Tool
from backend.tools.calculate import computed
from backend.tools.discovery import package_modules
from backend.tools.registry import tools_of
from benchmarks.recognition.word_errors import normalized
from benchmarks.routing.asked import SMALL_TALK, Asked
from benchmarks.routing.development import DEVELOPMENT
from benchmarks.routing.fresh import FRESH
from benchmarks.routing.questions import held_out, tuned
from benchmarks.routing.spoken import heard_by_family
from benchmarks.routing.wordings import OTHER_WORDINGS

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
    "development": DEVELOPMENT,
    "other wordings": OTHER_WORDINGS,
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
        with suppress(BadMoment):
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


def routed_rate(outcomes: Sequence[Outcome]) -> float:
    """The share whose Thinker is right."""
    return sum(each.routed for each in outcomes) / len(outcomes)


def rate(outcomes: Sequence[Outcome]) -> float:
    """The share that is right."""
    return sum(each.right for each in outcomes) / len(outcomes)


def main() -> int:
    """Print the tables; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__)
    parser.add_argument("--wrong", choices=list(SETS)[:3], action="append", help="show what went wrong there")
    parser.add_argument(
        "--spoken",
        nargs="?",
        const="second held out",
        choices=list(SETS),
        help="speak a set, the second held-out one if none is named, and ask what was heard",
    )
    options = parser.parse_args()
    shown = options.wrong or []
    console = Console(width=150)
    if options.spoken:
        return _report_spoken(console, options.spoken, shown=options.spoken in shown)
    halves = {name: [outcome_of(each) for each in questions] for name, questions in SETS.items()}
    for name in shown:
        _tell_wrong(console, halves[name])
    console.print(_table(halves))
    for name, outcomes in halves.items():
        both = f"right Thinker {routed_rate(outcomes):.0%}, and right arguments {rate(outcomes):.0%}"
        console.print(f"{name}: {both} of {len(outcomes)}")
    return 0 if rate(halves["second held out"]) >= GOAL else 1


def _report_spoken(console: Console, name: str, *, shown: bool) -> int:
    routing = routing_of([ROUTE], GUIDE)
    assert routing, "the tool has an enumeration and a text"
    router = router_of((*routing.specialists, *small_talk.SPECIALISTS))
    table, everything = Table("voices", "right Thinker", "and right arguments"), list[Outcome]()
    for family, heard in heard_by_family(SETS[name], router).items():
        outcomes = [outcome_of(asked, words) for asked, words in zip(SETS[name], heard, strict=True)]
        everything += outcomes
        if shown:
            _tell_wrong(console, outcomes)
        table.add_row(family, f"{routed_rate(outcomes):.0%}", f"{rate(outcomes):.0%}")
    table.add_row(f"all {len(everything)}", f"{routed_rate(everything):.0%}", f"{rate(everything):.0%}")
    console.print(table)
    return 0 if rate(everything) >= GOAL else 1


def _tell_wrong(console: Console, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if not outcome.right:
            heard = "" if outcome.words == outcome.asked.words else f" (heard: {outcome.words})"
            told = f"{outcome.asked.domain or 'small talk'}: {outcome.asked.words}{heard}"
            console.print(escape(f"{told} → {outcome.domain} {outcome.calls}"), soft_wrap=True)


def _table(halves: dict[str, list[Outcome]]) -> Table:
    table = Table("domain", *(f"{name}: right" for name in halves))
    for domain in dict.fromkeys(each.asked.domain for outcomes in halves.values() for each in outcomes):
        cells = []
        for outcomes in halves.values():
            counts = Counter(each.right for each in outcomes if each.asked.domain == domain)
            cells.append(f"{counts[True]} of {counts.total()}")
        table.add_row(domain or "(small talk)", *cells)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
