"""A tool's result as a short spoken answer. Pure.

A result with a sentence of its own is spoken as that. For any other, a plugin's too, the answer is the deed, the
findings or the plain values.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.sums import sum_in

Result = Mapping[str, Any]

ASIDE = ("note", "sample", "citations", "calendar", "spoken")
"""The keys of a result that are not the tool's finding or deed."""
_MOST = 5
"""The most entries that are spoken."""
SAMPLE = "That was sample data: live data cannot be reached from here."
UNWORDED = "I got an answer that I cannot put into words."
_NOT_NAMED = re.compile(r"^No \w+ was named\b.* Ask which (\w+) is meant")


def worded(sentence: str, output: str) -> str:
    """Return the words for a tool's output; they name a failure and sample data as such."""
    result = wording.read(output)
    if isinstance(result, str):
        return wording.spoken(result)
    if not isinstance(result, Mapping):
        return UNWORDED
    if error := result.get("error"):
        if isinstance(error, Mapping) and error.get("type") == "needs_confirmation":
            return wording.question_of_consent(sentence)
        message = wording.spoken(str(error.get("message", "") if isinstance(error, Mapping) else error))
        if asks := _NOT_NAMED.search(message):
            return f"Which {asks[1]} do you mean?"
        reason = wording.closed(message.partition(". ")[0])  # the rest is often advice to a model
        return f"I am sorry, I could not find that out. {reason if message else ''}".strip()
    words = phrased(sentence, result) or UNWORDED
    is_sample = result.get("sample") is True or result.get("source") == "sample"
    return f"{words} {SAMPLE}" if is_sample and "sample" not in words.lower() else words


def phrased(sentence: str, result: Result) -> str:
    """Return the words for a result; '' if it holds nothing to say."""
    match result:
        case {"spoken": str(words)} | {"answer": str(words)}:
            return wording.spoken(words)
        case {"value": int() | float() as value}:
            asked = sum_in(sentence)
            return (asked.words if asked else "That is {}.").format(f"{value:,.10g}")
        case {"result": str(words)} | {"summary": str(words)} | {"text": str(words)} | {"message": str(words)}:
            return wording.spoken(words)
    values = {name: value for name, value in result.items() if name not in ASIDE and value is not None}
    for key, value in values.items():
        if isinstance(value, Mapping):
            return f"I have {key} this: {_line(value)}."
        if value == [] and len(values) == 1:
            return f"There are no {key.replace('_', ' ')}."
    texts = [(name, _joined(value) if isinstance(value, list) else value) for name, value in values.items()]
    plain = "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in texts[:_MOST] if text != "")
    return f"{plain[0].upper()}{plain[1:]}." if plain else ""


def _joined(entries: Sequence[Any]) -> str:
    more = f"; and {len(entries) - _MOST} more" if len(entries) > _MOST else ""
    return "; ".join(map(_line, entries[:_MOST])) + more


def _line(entry: Any) -> str:
    """Return an entry in a few words."""
    if not isinstance(entry, Mapping):
        return str(entry)
    return next((str(entry[name]).rstrip(". ") for name in ("title", "text", "name") if entry.get(name)), "")
