"""Headlines: `get_news_headlines(topic?, category?, …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named

_FITS = re.compile(r"\b(?:news|headlines?|happening|happened)\b", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:about|on|regarding)\s+(?P<topic>.+?)(?:\s+(?:today|please|now))*\W*$", re.IGNORECASE)
_KIND = re.compile(r"\b(?P<kind>\w+) (?:news|headlines)\b", re.IGNORECASE)
_MOST = 3


def _fits(sentence: str) -> bool:
    return bool(_FITS.search(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    topic_field, category_field = field_named(schema, "topic", "query", "q"), field_named(schema, "category")
    topic, kind = _TOPIC.search(asked.sentence), _KIND.search(asked.sentence)
    if topic and topic_field:
        return [{topic_field: topic["topic"]}]
    if kind and category_field and kind["kind"].lower() in _choices(schema, category_field):
        return [{category_field: kind["kind"].lower()}]
    return [{}]


def _choices(schema: Mapping[str, Any], name: str) -> list[str]:
    """The values a field allows, also inside an `anyOf`."""
    field = schema["properties"][name]
    return [value for each in (field, *field.get("anyOf", ())) for value in each.get("enum", ())]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    headlines = [headline for headline in result["headlines"][:_MOST] if headline.get("title")]
    if not headlines:
        return "I found no headlines about that."
    told = [_sentence(headline) for headline in headlines]
    return " ".join(["Here are the headlines.", *told])


def _sentence(headline: Mapping[str, Any]) -> str:
    title, source = str(headline["title"]).rstrip(". "), headline.get("source")
    return f"{title}, says {source}." if source and source != "sample" else f"{title}."


SKILL = Skill(tool=re.compile(r"news|headline"), fits=_fits, fill=_fill, missing="News about what?", word=_word)
