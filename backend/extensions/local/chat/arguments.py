"""The arguments of a tool, found in a sentence by what its JSON schema calls its fields. Pure.

A field has a kind by its name, and each kind is looked for in its own way, in whatever tool it stands. What nobody has
said may be known of the user; what a tool cannot do without is asked back for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from backend.extensions.local.chat.asked import Asked, Wish
from backend.extensions.local.chat.numbers import problem_in, score_in, scores_of, values_in
from backend.extensions.local.dialogue.names import digits, names_in, places_in
from backend.extensions.local.dialogue.remembering import known_of
from backend.extensions.local.dialogue.times import TIME, timed
from backend.extensions.local.dialogue.wording import as_sentence, without_courtesies

Arguments = dict[str, Any]
Function = Mapping[str, Any]
"""A tool as a model is offered it: its name, its description, and the schema of its parameters."""

_NEEDS = {
    # the fields that go with an action; with a * those it cannot do without
    "create": "title* text* start* at* due",
    "add": "text*",
    "comment": "number* text*",
    "snooze": "due*",
    "cancel": "text",
    "update": "start*",
    "search": "query",
    "list": "start end query state",
}
_OF_ANY_ACTION = "number*"
_KINDS = {"location": "place", "city": "place", "symbol": "company", "ticker": "company", "q": "query"}
_KINDS |= {"question": "query", "when": "at", "time": "at", "date": "day"}
"""Fields that are something else by another name."""
TIMES = frozenset(("at", "due", "start", "day", "date", "when", "time"))
"""Fields that are filled with a time."""
_KNOWN_AS = {"place": "default_location", "company": "watched_tickers", "unit": "temperature_unit"}
"""What the user may have told of themselves, by the kind of field it is good for."""
_QUESTIONS = {
    "title": "What is it to be called?",
    "text": "What is it about?",
    "number": "Which one do you mean?",
    "at": "When?",
    "due": "Until when?",
    "start": "On which day, and at what time?",
    "day": "On which day?",
    "expression": "",
    "values": "I need all its numbers with their units, for example eighty kilos and one meter eighty.",
}
_OF_SHARES = re.compile(
    r"(?:how|what|where|is|are|was|were|did|do|does|has|have|tell|give|check|show|would|like|know|hear|you|i|me|my|our|"
    r"it|they|their|own|please|now|today|again|moment|and|the|an?|of|for|on|in|at|to|or|much|many|one|stocks?|shares?|"
    r"prices?|costs?|value|quote|market|exchange|portfolio|worth|money|doing|trad(?:e|ing)|stand|close|up|down|go|gone|"
    r"losing|gaining|rising|fall(?:en|ing))$",
    re.IGNORECASE,
)
"""Words in a question about shares that name no company: recognition often writes a name in lower case."""
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|(?:news|headlines?|latest|stories|new|updates?|update me) "
    r"(?:on|from|in|for(?! (?:me|us)\b)))\s+"
    r"(?:the )?(?:world of )?(?P<topic>(?!the news).+)$",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    r"^(?:do a (?:thorough )?search (?:for|on|about)|search(?: the web)?(?: for)?|look up|look into|"
    r"find out(?: about)?|research|investigate|google|what does research say about)\s+",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:an?|the|my)\s+", re.IGNORECASE)


class Missing(Exception):
    """Something is needed that nobody has said; the text asks for it, or is empty."""


def filled(asked: Asked, function: Function, wish: Wish) -> list[Arguments]:
    """Return the arguments of each call that a sentence makes of a tool. Raises `Missing`."""
    fields, required = fields_of(function), (function.get("parameters") or {}).get("required") or ()
    if wish.action:
        needs = _NEEDS.get(wish.action, _OF_ANY_ACTION).split()
        wanted = [name for each in needs if (name := each.rstrip("*")) in fields]
        required = [each.rstrip("*") for each in needs if each.endswith("*")]
    given: Arguments = {"action": wish.action} if wish.action and "action" in fields else {}
    several: list[Arguments] = [{}]
    for name in wanted if wish.action else fields:
        if name == "text" and "title" in given:
            continue
        if values := _values(name, function, asked, wish):
            several = [{name: value} for value in values] if len(values) > 1 else several
            given |= {name: values[0]}
        elif name in required:
            given[name] = _whatever(name, fields[name], asked)
    if "topic" in given:
        given.pop("topic" if given["topic"].lower() == given.get("category") else "category", None)
    return [given | each for each in several]


def value_of(name: str, asked: Asked, function: Function, wish: Wish | None = None) -> Any:
    """Return what a sentence gives for a field, in a list where it may give several; nothing where it gives none."""
    field, wish = fields_of(function)[name], wish or Wish("", "", timed(asked.plain))
    scores = scores_of(function.get("description", ""))
    if choices := choices_of(field):
        return [each for each in choices if re.search(rf"\b{each}\b", asked.sentence, re.IGNORECASE)][:1]
    match _KINDS.get(name, name):
        case "place":
            return places_in(asked.sentence)
        case "company":
            return names_in(asked.plain) or _companies(asked.plain)
        case "title":
            title = _ARTICLE.sub("", wish.subject)
            return title[:1].upper() + title[1:]
        case "text":
            is_sentence = wish.subject and re.search(r"sentence|Markdown", field.get("description", ""))
            return as_sentence(wish.subject) if is_sentence else wish.subject
        case "day":
            return wish.time.day
        case "at":
            return wish.time.when
        case "due":
            return wish.target if wish.action == "snooze" else wish.time.when
        case "start" if wish.action == "create":  # an hour is never guessed
            return wish.time.when if wish.time.has_hour else ""
        case "start" if wish.action == "update":
            return wish.target
        case "start" | "end":
            return wish.time.day
        case "topic":
            about = _TOPIC.search(TIME.sub("", asked.plain).strip(" ,"))
            return about["topic"].strip() if about else ""
        case "expression":
            return problem_in(asked.sentence)[0]
        case "score":
            return score_in(asked.sentence, scores)
        case "values":
            return values_in(asked.sentence, scores)
        case "query":
            return _ARTICLE.sub("", wish.subject) if wish.action else topic_of(asked.sentence)
        case _ if _is_name(field):
            return places_in(asked.sentence)[:1]
        case _ if name == "number" or ("default" not in field and field.get("type") in ("integer", "number")):
            number = re.search(r"\d+(\.\d+)?", digits(TIME.sub("", asked.plain)))
            return (float(number[0]) if number[1] else int(number[0])) if number else None
    return None


def topic_of(sentence: str) -> str:
    """Return what is to be searched for, without the words that ask for it."""
    return _SEARCH.sub("", without_courtesies(sentence))


def fields_of(function: Function) -> Mapping[str, Any]:
    """Return the schemas of a tool's fields by their names."""
    return (function.get("parameters") or {}).get("properties") or {}


def choices_of(field: Mapping[str, Any]) -> list[str]:
    """Return the values a field allows, also inside an `anyOf`."""
    return [value for each in (field, *field.get("anyOf", ())) for value in each.get("enum", ())]


def new_start(target: str, start: str) -> str:
    """Return the moment something is moved to, as the tools read it; `start` is its ISO moment so far."""
    day = timed(target).day
    hour = re.sub(rf"\b(?:on )?{re.escape(day)}\b" if day else r"(?!)", "", target).strip().removeprefix("at ").strip()
    date, _, clock = start.partition("T")
    return " at ".join(filter(None, (day or date, hour or clock[:5])))


def _values(name: str, function: Function, asked: Asked, wish: Wish) -> list[Any]:
    """Return what a sentence gives for a field, or what is known of the user; [] for nothing, or what it is anyway."""
    field = fields_of(function)[name]
    value = value_of(name, asked, function, wish)
    values = value if isinstance(value, list) else [value] if value else []
    values = values or known_of(asked.known, _KNOWN_AS.get(_KINDS.get(name, name), ""))
    return [each for each in values if each != field.get("default") or not choices_of(field)]


def _whatever(name: str, field: Mapping[str, Any], asked: Asked) -> str:
    """Return the whole sentence for a text of which nothing is known but that it is needed. Else raises `Missing`."""
    kind = _KINDS.get(name, name)
    is_text = field.get("type") == "string" and not choices_of(field) and not _is_name(field)
    if not is_text or kind in _QUESTIONS or kind in _KNOWN_AS:
        raise Missing(_QUESTIONS.get(kind, f"Which {kind.replace('_', ' ')} do you mean?"))
    return asked.sentence


def _is_name(field: Mapping[str, Any]) -> bool:
    """Return whether a field holds a name: it has to be said, and its description gives one as an example."""
    return "default" not in field and bool(re.search(r"\be\.g\. ['\"“]?[A-Z]", field.get("description", "")))


def _companies(plain: str) -> list[str]:
    """Return what is left of a question about shares without the words that such questions are made of."""
    words = re.findall(r"[\w&.-]+", re.sub(r"['’](?:s|d)\b", "", TIME.sub("", plain)))
    runs = groupby(words, key=lambda word: bool(_OF_SHARES.match(word)))
    return [" ".join(run) for is_common, run in runs if not is_common]
