"""The topic of a question, for a sentence that begins with "About …:". Pure; English."""

from __future__ import annotations

import re

from backend.turns.languages import ENGLISH

MAX_WORDS = 12
"""Longer topics are cut: who hears one remembers what was asked."""
_COURTESY = ENGLISH.pattern("question_topic", "courtesy", re.IGNORECASE)
_ORDER = ENGLISH.pattern("question_topic", "order", re.IGNORECASE)
_WHAT_IS = ENGLISH.pattern("question_topic", "what_is", re.IGNORECASE)
_WHAT_ABOUT = ENGLISH.pattern("question_topic", "what_about", re.IGNORECASE)
_VERB_AT_END = ENGLISH.pattern("question_topic", "verb_at_end", re.IGNORECASE)
_CLAUSE = ENGLISH.pattern("question_topic", "clause", re.IGNORECASE)


def topic_of(question: str) -> str:
    """Return what a question is about: "Research electric cars." → "electric cars".

    One that names no thing is quoted: "Should I buy gold?" → 'your question "Should I buy gold"'.
    """
    words = " ".join(question.split()).rstrip(" .?!")
    words = re.sub(r"[, ]+please$", "", words, flags=re.IGNORECASE)
    asked = _COURTESY.sub("", words, count=1)
    for lead in (_WHAT_ABOUT, _ORDER, _WHAT_IS):
        if (found := lead.match(asked)) and (rest := asked[found.end() :].strip()):
            return _short(_VERB_AT_END.sub("", rest) if lead is _WHAT_IS else rest)
    return f'your question "{_short(asked)}"' if _CLAUSE.match(asked) else _short(asked) or "your question"


def _short(topic: str) -> str:
    words = topic.strip(" ,;:").split()
    return " ".join(words[:MAX_WORDS])
