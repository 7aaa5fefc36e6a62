"""Headlines: `get_news_headlines(topic?, category?, …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, field_named, having
from local_responder.dialogue.times import TIME

_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|(?:news|headlines?|latest|stories|new) (?:on|from|in))\s+(?:the )?"
    r"(?P<topic>(?!the news).+)$",
    re.IGNORECASE,
)
_MOST = 3


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    field, category = field_named(schema, "topic", "query", "q"), field_named(schema, "category")
    plain = TIME.sub("", asked.plain).strip(" ,")
    kind = next((each for each in _choices(schema, category) if re.search(rf"\b{each}\b", plain.lower())), "")
    topic = _TOPIC.search(plain)
    if topic and field and topic["topic"].lower() != kind:
        return [{field: topic["topic"].strip()}]
    return [{category: kind} if kind else {}]


def _choices(schema: Mapping[str, Any], name: str) -> list[str]:
    """The values a field allows, also inside an `anyOf`."""
    field = (schema.get("properties") or {}).get(name, {})
    return [value for each in (field, *field.get("anyOf", ())) for value in each.get("enum", ())]


def _word(asked: Asked, result: Result) -> str:
    told = [_sentence(headline) for headline in result["headlines"][:_MOST] if headline.get("title")]
    return " ".join(["Here are the headlines.", *told]) if told else "I found no headlines about that."


def _sentence(headline: Result) -> str:
    title, source = str(headline["title"]).rstrip(". "), headline.get("source")
    return f"{title}, says {source}." if source and source != "sample" else f"{title}."


SKILLS = (Skill(r"news|headline", having(r"\b(?:news|headlines?|happening|happened)\b"), _fill, _word),)
