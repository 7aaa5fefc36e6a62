"""Promises: replies that only announce work, like "Let me look that up." Pure, English.

A model that announces work and then calls no tool, or stops, leaves the caller in silence; such a reply is followed up.
An announcement before an answer is no promise, nor is one that ends in a question.
"""

import re

from backend.turns.languages import ENGLISH

LONGEST_WORDS = 25
"""The most words of a promise; a longer reply says more than that."""
_PROMISE = ENGLISH.pattern("promises", "promise")
_LEAD = ENGLISH.pattern("promises", "lead")
_SENTENCE = re.compile(r"[^.!?\u2026]+[.!?\u2026]*")
_KEEPING = ENGLISH.pattern("promises", "keeping")
"""Signs that a sentence says more than a promise."""


def is_promise(words: str) -> bool:
    """Return whether each sentence announces work, apart from courtesies, and at least one does."""
    if len(words.split()) > LONGEST_WORDS or words.rstrip().endswith("?"):
        return False
    promised = False
    for sentence in _SENTENCE.findall(words.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        said = _LEAD.sub("", sentence.strip() + " ").strip(" .,!?\u2026")
        if not said or _LEAD.fullmatch(f"{said} "):
            continue
        if not _PROMISE.match(said) or _KEEPING.search(said):
            return False
        promised = True
    return promised
