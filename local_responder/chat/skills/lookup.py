"""Searches by a question, and any other tool: the sentence for every text it requires, its plain values told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, field_named

_POLITE = re.compile(
    r"^(?:please |can you |could you )*(?:do a (?:thorough )?search (?:for|on|about)|"
    r"search(?: the web)?(?: for)?|look up|look into|find out(?: about)?|research|google|"
    r"what does research say about)\s+",
    re.IGNORECASE,
)
_LISTS = ("results", "passages", "articles")
_TEXTS = ("excerpt", "text", "abstract", "summary")
_LONGEST = 240
"""Characters of a finding that are read aloud."""
_MOST = 5
"""Values that are told."""


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    field = field_named(schema, "query", "q", "question")
    return [{field: topic_of(asked.sentence)}] if field else []


def topic_of(sentence: str) -> str:
    """What is to be searched for, without the words that ask for it."""
    return _POLITE.sub("", sentence.strip(" ?.!\n"))


def _word(asked: Asked, result: Result) -> str:
    found = next(result[name] for name in _LISTS if name in result)
    if not found:
        return "That search found nothing."
    title = str(found[0].get("title") or found[0].get("document") or "One source").rstrip(".")
    text = next((str(found[0][name]) for name in _TEXTS if found[0].get(name)), "")
    return f"{title}: {_beginning(text)}" if text else f"I found: {title}."


def _beginning(text: str) -> str:
    """The first sentences that fit into what one can listen to."""
    if len(text) <= _LONGEST:
        return text
    cut = text[:_LONGEST]
    end = max(cut.rfind(mark) for mark in ".!?")
    return cut[: end + 1] if end > 0 else cut.rsplit(" ", 1)[0] + " and so on."


def _fill_any(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    texts = all(
        properties.get(name, {}).get("type") == "string" and "enum" not in properties[name] for name in required
    )
    return [dict.fromkeys(required, asked.sentence)] if texts else []


def _word_any(asked: Asked, result: Result) -> str:
    told = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in result.items()
        if isinstance(value, str | int | float) and name not in ("note", "sample")
    ]
    if not told:
        raise KeyError("no plain value")
    return f"{'; '.join(told[:_MOST]).capitalize()}."


SKILLS = (
    Skill(r"search", str.strip, _fill, _word, "What should I search for?", last_resort=True),
    Skill(r"^route_to_", lambda sentence: False, lambda asked, schema: [], lambda asked, result: str(result["answer"])),
    Skill(
        r"^(?!remember_)", str.strip, _fill_any, _word_any, "I cannot fill in what that tool needs.", last_resort=True
    ),
)
