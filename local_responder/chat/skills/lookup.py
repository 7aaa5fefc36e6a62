"""Searches by a question: the web, documents, medical articles. Any tool named `…search…` that takes a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named

_POLITE = re.compile(
    r"^(?:please |can you |could you )*"
    r"(?:search(?: the web)?(?: for)?|look up|find out(?: about)?|research|google|what does research say about)\s+",
    re.IGNORECASE,
)
_LISTS = ("results", "passages", "articles")
_TEXTS = ("excerpt", "text", "abstract", "summary")
_LONGEST = 240
"""Characters of a finding that are read aloud."""


def _fits(sentence: str) -> bool:
    """A search tool is only offered where searching is the point."""
    return bool(sentence.strip())


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    name = field_named(schema, "query", "q", "question")
    return [{name: topic_of(asked.sentence)}] if name else []


def topic_of(sentence: str) -> str:
    """What is to be searched for, without the words that ask for it."""
    return _POLITE.sub("", sentence.strip(" ?.!\n"))


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    found = next((result[name] for name in _LISTS if name in result), None)
    if found is None:
        raise KeyError("no list of findings")
    if not found:
        return "That search found nothing."
    best = found[0]
    title = best.get("title") or best.get("document") or "One source"
    text = next((str(best[name]) for name in _TEXTS if best.get(name)), "")
    return f"{str(title).rstrip('.')}: {_beginning(text)}" if text else f"I found: {str(title).rstrip('.')}."


def _beginning(text: str) -> str:
    """The first sentences that fit into what one can listen to."""
    if len(text) <= _LONGEST:
        return text
    cut = text[:_LONGEST]
    end = max(cut.rfind(mark) for mark in ".!?")
    return cut[: end + 1] if end > 0 else cut.rsplit(" ", 1)[0] + " and so on."


SKILL = Skill(
    tool=re.compile(r"search"),
    fits=_fits,
    fill=_fill,
    missing="What should I search for?",
    word=_word,
    last_resort=True,
)
