"""The arguments of a tool, found in a sentence with the help of its JSON schema. Pure.

A field's name or schema gives its kind, and a kind is looked for in the same way in every tool. The caller is asked for
a required field that is missing.
"""

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from backend.extensions.local.dialogue.names import names_in, places_in
from backend.extensions.local.dialogue.sums import digits, sum_in
from backend.extensions.local.dialogue.times import TIME, timed
from backend.extensions.local.dialogue.wishes import ARTICLE, Kind, Wish
from backend.extensions.local.dialogue.wording import as_sentence, without_courtesies

Arguments = dict[str, Any]
Function = Mapping[str, Any]
"""A tool as a model is offered it: its name, its description, and the schema of its parameters."""

_FILLED = {
    # the optional fields that an action of each kind takes from a sentence; finding takes all
    Kind.MAKE: ("title", "text", "start", "at", "due", "number"),
    Kind.CHANGE: ("start", "number"),
    Kind.REMOVE: ("text", "number"),
    Kind.FINISH: ("number",),
}
_KINDS = {"location": "place", "city": "place", "symbol": "company", "ticker": "company", "q": "query"}
_KINDS |= {"question": "query", "when": "at", "time": "at", "date": "day"}
"""Field names that mean a known kind → the kind."""
_QUESTIONS = {
    "title": "What is it to be called?",
    "text": "What is it about?",
    "number": "Which one do you mean?",
    "at": "When?",
    "start": "On which day, and at what time?",
    "day": "On which day?",
    "expression": "",
}
_OF_SHARES = re.compile(
    r"(?:how|what|where|is|are|was|were|did|do|does|has|have|tell|give|check|show|would|like|know|hear|you|i|me|my|our|"
    r"it|they|their|own|please|now|today|again|moment|and|the|an?|of|for|on|in|at|to|or|much|many|one|stocks?|shares?|"
    r"prices?|costs?|value|quote|market|exchange|portfolio|worth|money|doing|trad(?:e|ing)|stand|close|up|down|go|gone|"
    r"losing|gaining|rising|fall(?:en|ing))$",
    re.IGNORECASE,
)
"""Words of a question about shares that are no company's name; recognition often writes a name in lower case."""
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


class Missing(Exception):
    """A needed value was not said. The text asks for it, or is empty."""


def filled(sentence: str, function: Function, wish: Wish, action: str = "") -> list[Arguments]:
    """Return the arguments of each call that a sentence makes of a tool. Raises `Missing`."""
    fields, required = fields_of(function), (function.get("parameters") or {}).get("required") or ()
    given: Arguments = {"action": action} if "action" in fields else {}
    several: list[Arguments] = [{}]
    for name, field in fields.items():  # a field is taken that the schema requires, or that the kind of wish fills
        is_wanted = name in required or wish.kind is Kind.FIND or name in _FILLED[wish.kind]
        is_wanted = is_wanted and not (action == "list" and name == "query")  # a question names no words to list by
        is_said = name in given or (name == "text" and "title" in given)
        if is_said or not is_wanted or not _is_for(field, action, fields):
            continue
        values = _values(name, sentence, function, wish)
        if len(values) > 1:
            several = [{name: value} for value in values]
        if values:
            given[name] = values[0]
        elif name in required:
            given[name] = _whatever(name, field, sentence)
    if "topic" in given:
        given.pop("topic" if given["topic"].lower() == given.get("category") else "category", None)
    return [given | each for each in several]


def fields_of(function: Function) -> Mapping[str, Any]:
    """Return the schemas of a tool's fields by their names."""
    return (function.get("parameters") or {}).get("properties") or {}


def choices_of(field: Mapping[str, Any]) -> list[str]:
    """Return the values a field allows, also inside an `anyOf`."""
    return [value for each in (field, *field.get("anyOf", ())) for value in each.get("enum", ())]


def topic_of(sentence: str) -> str:
    """Return the topic of a search, without the words that ask for it."""
    return _SEARCH.sub("", without_courtesies(sentence))


def new_start(target: str, start: str) -> str:
    """Return the new moment of a moved entry, as the tools read it; `start` is the ISO moment of the entry so far."""
    day = timed(target).day
    hour = re.sub(rf"\b(?:on )?{re.escape(day)}\b" if day else r"(?!)", "", target).strip().removeprefix("at ").strip()
    date, _, clock = start.partition("T")
    return " at ".join(filter(None, (day or date, hour or clock[:5])))


def _is_for(field: Mapping[str, Any], action: str, fields: Mapping[str, Any]) -> bool:
    """Return whether a field belongs to an action; a description that names actions allows only those."""
    described, actions = str(field.get("description", "")), choices_of(fields.get("action", {}))
    named = [each for each in actions if re.search(rf"\b{each}\b", described)]
    return not named or action in named


def _values(name: str, sentence: str, function: Function, wish: Wish) -> list[Any]:
    """Return the values that a sentence gives for a field; [] if there are none, or only the default."""
    field = fields_of(function)[name]
    if choices := choices_of(field):
        said = [each for each in choices if re.search(rf"\b{each}\b", sentence, re.IGNORECASE)]
        return [each for each in said[:1] if each != field.get("default")]
    value = _value(name, field, sentence, wish)
    return value if isinstance(value, list) else [value] if value else []


def _value(name: str, field: Mapping[str, Any], sentence: str, wish: Wish) -> Any:
    plain = without_courtesies(sentence)
    match _KINDS.get(name, name):
        case "place":
            return places_in(sentence)
        case "company":
            return names_in(plain) or _companies(plain)
        case "title":
            title = ARTICLE.sub("", wish.subject)
            return title[:1].upper() + title[1:]
        case "text":
            is_sentence = wish.subject and "sentence" in field.get("description", "")
            return as_sentence(wish.subject) if is_sentence else wish.subject
        case "at" | "due":
            return wish.time.when
        case "start" if wish.kind is Kind.CHANGE:
            return wish.target
        case "start" if wish.kind is Kind.MAKE:  # an hour is never guessed
            return wish.time.when if wish.time.has_hour else ""
        case "start" | "end" | "day":
            return wish.time.day
        case "topic":
            about = _TOPIC.search(TIME.sub("", plain).strip(" ,"))
            return about["topic"].strip() if about else ""
        case "expression":
            found = sum_in(sentence)
            return found.expression if found else ""
        case "query":
            return topic_of(sentence) if wish.kind is Kind.FIND else wish.subject
        case _ if _is_name(field):
            return places_in(sentence)[:1]
        case _ if name == "number" or ("default" not in field and field.get("type") in ("integer", "number")):
            number = re.search(r"\d+(\.\d+)?", digits(TIME.sub("", plain)))
            return (float(number[0]) if number[1] else int(number[0])) if number else None
    return None


def _whatever(name: str, field: Mapping[str, Any], sentence: str) -> str:
    """Return the whole sentence for a required text without a known kind. Raises `Missing` otherwise."""
    kind = _KINDS.get(name, name)  # a sentence is no answer to a field with a question of its own
    is_text = field.get("type") == "string" and not choices_of(field) and not _is_name(field)
    if not is_text or kind in _QUESTIONS or kind in ("place", "company"):
        raise Missing(_QUESTIONS.get(kind, f"Which {kind.replace('_', ' ')} do you mean?"))
    return sentence


def _is_name(field: Mapping[str, Any]) -> bool:
    """Return whether a field holds a name that must be said: its description gives one as an example."""
    return "default" not in field and bool(re.search(r"\be\.g\. ['\"“]?[A-Z]", field.get("description", "")))


def _companies(plain: str) -> list[str]:
    """Return the words of a question about shares that may name companies."""
    words = re.findall(r"[\w&.-]+", re.sub(r"['’](?:s|d)\b", "", TIME.sub("", plain)))
    runs = groupby(words, key=lambda word: bool(_OF_SHARES.match(word)))
    return [" ".join(run) for is_common, run in runs if not is_common]
