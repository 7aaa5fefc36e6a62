"""The arguments of a tool, found in a sentence by what its JSON schema calls its fields. Pure.

A field has a kind by its name, and each kind is looked for in its own way, in whatever tool it stands. What a tool
cannot do without and nobody has said is asked back for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.asked import Asked, Wish
from local_responder.chat.numbers import expression_in, score_in, values_in
from local_responder.dialogue.keeping import as_sentence
from local_responder.dialogue.names import digits, names_in, places_in
from local_responder.dialogue.times import TIME, timed

Arguments = dict[str, Any]
Schema = Mapping[str, Any]

_NEEDS: dict[str, tuple[str, ...]] = {
    # the fields that go with an action; with a * those it cannot do without
    "create": ("title*", "text*", "start*", "at*", "due", "repeat"),
    "add": ("text*",),
    "comment": ("number*", "text*"),
    "close": ("number*",),
    "view": ("number*",),
    "list_comments": ("number*",),
    "snooze": ("due*",),
    "cancel": ("text",),
    "update": ("start*",),
    "search": ("query",),
    "list": ("start", "end", "query", "state"),
}
_PLACE, _COMPANY, _QUERY = ("location", "city", "place"), ("company", "symbol", "ticker"), ("query", "q", "question")
_QUESTIONS = {
    **dict.fromkeys(_PLACE, "Which place do you mean?"),
    **dict.fromkeys(_COMPANY, "Which company do you mean?"),
    "title": "What is it to be called?",
    "text": "What is it about?",
    "number": "Which one do you mean?",
    "at": "When?",
    "due": "Until when?",
    "start": "On which day, and at what time?",
    "expression": "",
    "values": "I need all its numbers with their units, for example eighty kilos and one meter eighty.",
}
_HOME = re.compile(r"\"default_location\":\s*\"([^\"]+)\"")
_WATCHED = re.compile(r"\"watched_tickers\":\s*\[([^\]]*)\]")
_PREFERRED_UNIT = re.compile(r"\"temperature_unit\":\s*\"([^\"]+)\"")
_SHARE = re.compile(
    r"\b(?:price|value|quote) (?:of|for|on) (?P<of>.+?)(?: stocks?| shares?)?(?: today| now)?$|"
    r"\b(?:how|what|where)(?: is| are| did| does| do|'s) (?P<doing>.+?)(?: stocks?| shares?)?"
    r" (?:doing|trading|do|stand|close)\b|"
    r"\b(?:what|how)(?: is|'s) (?P<whose>.+?)(?:'s)? (?:stocks?|shares?)\b|"
    r"\bhow much (?:is|are) (?:an? |one )?(?P<one>.+?)(?:'s)? (?:stocks?|shares?)\b|"
    r"^(?:is|are|did|has) (?P<moved>.+?)(?:'s)?(?: stocks?| shares?)?"
    r" (?:up|down|go|gone|losing|gaining|rising|falling)\b|"
    r"^(?P<first>(?!(?:how|what|where|which|is|are|did|has)\b)[\w&.\- ]+?) (?:stocks?|shares?|share price)\b",
    re.IGNORECASE,
)
"""A company by what stands around it: recognition often writes a name in lower case."""
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|(?:news|headlines?|latest|stories|new|updates?|update me) "
    r"(?:on|from|in|for(?! (?:me|us)\b)))\s+"
    r"(?:the )?(?P<topic>(?!the news).+)$",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:please |can you |could you )*(?:do a (?:thorough )?search (?:for|on|about)|"
    r"search(?: the web)?(?: for)?|look up|look into|find out(?: about)?|research|google|"
    r"what does research say about)\s+",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:an?|the|my)\s+", re.IGNORECASE)
_TODAY = re.compile(r"tonight|(?:in )?this (?:morning|afternoon|evening)", re.IGNORECASE)
_PART = re.compile(r" (?:morning|afternoon|evening|night)$", re.IGNORECASE)
UNFILLABLE = "I cannot fill in what that tool needs."


class Missing(Exception):
    """Something is needed that nobody has said; the text asks for it, or is empty."""


def filled(asked: Asked, schema: Schema, wish: Wish) -> list[Arguments]:
    """Return the arguments of each call that a sentence makes of a tool. Raises `Missing`."""
    fields = schema.get("properties") or {}
    if not wish.action:
        return _plainly(asked, schema, wish)
    given: Arguments = {"action": wish.action} if "action" in fields else {}
    for name, mark in ((each.rstrip("*"), each[-1]) for each in _NEEDS.get(wish.action, ())):
        if name not in fields or (name == "text" and "title" in given):
            continue
        if values := _values(name, fields[name], asked, wish):
            given[name] = values[0]
        elif mark == "*":
            raise Missing(_QUESTIONS[name])
    return [given]


def _plainly(asked: Asked, schema: Schema, wish: Wish) -> list[Arguments]:
    """Fill the fields of a tool that does one thing: those of a known kind, and the texts it requires."""
    fields, required = schema.get("properties") or {}, schema.get("required") or ()
    given, several = dict[str, Any](), [dict[str, Any]()]
    for name, field in fields.items():
        if values := _values(name, field, asked, wish):
            several = [{name: value} for value in values] if len(values) > 1 else several
            given |= {name: values[0]}
        elif name in required:
            if name in _QUESTIONS:
                raise Missing(_QUESTIONS[name])
            if field.get("type") != "string" or choices_of(field):
                raise Missing(UNFILLABLE)
            given[name] = asked.sentence
    if "category" in given and _ARTICLE.sub("", given.get("topic", "")).removeprefix("world of ") == given["category"]:
        del given["topic"]
    elif given.get("topic"):
        given.pop("category", None)
    return [given | each for each in several]


def _values(name: str, field: Schema, asked: Asked, wish: Wish) -> list[Any]:
    """Return what a sentence gives for a field; [] for nothing, or what the field is without it."""
    if choices := choices_of(field):
        wanted = _PREFERRED_UNIT.search(asked.known) if name == "unit" else None
        chosen = [each for each in choices if re.search(rf"\b{each}\b", asked.sentence, re.IGNORECASE)]
        return [each for each in chosen or ([wanted[1]] if wanted else []) if each != field.get("default")][:1]
    if name in _PLACE:
        home = _HOME.search(asked.known)
        return [*places_in(asked.sentence)] or ([home[1]] if home else [])
    if name in _COMPANY:
        return [*_companies(asked)]
    value = _value(name, field, asked, wish)
    return [value] if value else []


def _value(name: str, field: Schema, asked: Asked, wish: Wish) -> Any:
    match name:
        case "title":
            title = _ARTICLE.sub("", wish.subject)
            return title[:1].upper() + title[1:]
        case "text":
            is_sentence = re.search(r"sentence|Markdown", field.get("description", ""))
            return as_sentence(wish.subject) if is_sentence and wish.subject else wish.subject
        case "at":
            return wish.time.once[0]
        case "repeat":
            return wish.time.once[1]
        case "due":
            return wish.target if wish.action == "snooze" else wish.time.moment
        case "start" if wish.action == "create":  # an hour is never guessed
            return f"{wish.time.day or 'today'} at {wish.time.hour}" if wish.time.hour else ""
        case "start":
            return wish.target if wish.action == "update" else _span(wish)[0]
        case "end":
            return _span(wish)[1]
        case "number":
            found = re.search(r"\d+", digits(asked.plain))
            return int(found[0]) if found else 0
        case "topic":
            about = _TOPIC.search(TIME.sub("", asked.plain).strip(" ,"))
            return about["topic"].strip() if about else ""
        case "expression":
            return expression_in(asked.sentence)
        case "score":
            return score_in(asked.sentence)
        case "values":
            return values_in(asked.sentence)
        case _ if name in _QUERY and wish.action:
            return _ARTICLE.sub("", wish.subject)
        case _ if name in _QUERY:
            return topic_of(asked.sentence)
    return None


def topic_of(sentence: str) -> str:
    """Return what is to be searched for, without the words that ask for it."""
    return _POLITE.sub("", sentence.strip(" ?.!\n"))


def choices_of(field: Schema) -> list[str]:
    """Return the values a field allows, also inside an `anyOf`."""
    return [value for each in (field, *field.get("anyOf", ())) for value in each.get("enum", ())]


def _companies(asked: Asked) -> list[str]:
    """Return the companies named; else the ones the user is known to watch."""
    if names := names_in(asked.plain):
        return names
    found = _SHARE.search(asked.plain)
    company = next(filter(None, found.groups())) if found else ""
    if company and not re.match(r"(?:my|their|our|the|it|they|that)\b", company, re.IGNORECASE):
        return re.split(r"\s+and\s+", company.strip())
    watched = _WATCHED.search(asked.known)
    return re.findall(r"\"([^\"]+)\"", watched[1]) if watched else []


def _span(wish: Wish) -> tuple[str, str]:
    """Return the first and the last day to look at: a week from today if none was said."""
    day = wish.time.day.lower()
    if not day or _TODAY.fullmatch(day):
        return "today", "today" if day else ""
    if day.endswith("weekend"):
        return "saturday", "sunday"
    first = "next monday" if day == "next week" else _PART.sub("", wish.time.day)
    return first, "" if day == "next week" else first


def new_start(target: str, start: str) -> str:
    """Return the moment something is moved to, as the tools read it; `start` is its ISO moment so far."""
    day = timed(target).day
    hour = re.sub(rf"\b(?:on )?{re.escape(day)}\b" if day else r"(?!)", "", target).strip().removeprefix("at ").strip()
    date, _, clock = start.partition("T")
    return " at ".join(filter(None, (day or date, hour or clock[:5])))
