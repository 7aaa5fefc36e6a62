"""Promises: whether a reply only announces work ("Let me look that up.") and says nothing else. Pure, English.

A model that announces work and then calls no tool leaves the caller in silence. So does one that stops after the
announcement; both are followed up. An announcement before an answer, or one that ends in a question, is none.
"""

from __future__ import annotations

import re

LONGEST_WORDS = 25
"""A longer reply has said something besides."""
_WORK = (
    r"(check|look|see|find|search|pull|get|fetch|ask|verify|confirm|dig|think|calculate|figure out|review|retrieve"
    r"|have a look|take a look|do that|do so|gather|query|consult)"
)
_PROMISE = re.compile(
    rf"((just )?let me (just |quickly |now )?{_WORK}\b(?! (you )?know\b)"
    rf"|(i'll|i will|i am going to|i'm going to) (just |quickly |now |have to )?{_WORK}\b"
    r"|i('m| am) (just |now )?(check|look|search|find|pull|gett|fetch|ask|verify|retriev|gather|consult)ing\b"
    r"|(looking|checking|searching|fetching|pulling|getting) (that|it|this|for|into|up|the|now)\b"
    r"|(just )?(give me|bear with me|hold on|hang on|one|just a|a) ?(just )?(a |one )?(moment|second|sec|minute)\b"
    r"(?! of\b)"
    r"|bear with me\b|hold on\b|hang on\b|stand by\b|working on (it|that)\b)"
)
_LEAD = re.compile(
    r"^((okay|ok|sure|sure thing|of course|certainly|absolutely|right|all right|alright|great question|good question"
    r"|great|yes|well|so|got it|no problem|happy to help|i see|hmm|thanks|thank you|please|and|now|while i do that)"
    r"[,.! ]+)+"
)
_SENTENCE = re.compile(r"[^.!?\u2026]+[.!?\u2026]*")
_KEEPING = re.compile(
    r"\b(because|is that|which means|the answer is|it is|it's|there (is|are)|you (can|should|will|need))\b"
)
"""What a sentence says that is more than a promise."""


def is_promise(words: str) -> bool:
    """Return whether each sentence but for courtesies announces work, and at least one does."""
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
