"""What was said before, and what is known of the user, found again by rules, in calls and typed turns alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backend.extensions.local.dialogue import wording

Said = tuple[str, str]
"""(role, words)."""

_ASKED: tuple[tuple[str, str, str, str], ...] = (
    # what asks for it, how it was said, what the instructions call it, and the answer
    (
        r"\b(?:what(?:'s| is| was)|(?:do|did) you (?:know|remember)|remember|tell me) my name\b|\bwho am i\b",
        r"\b(?:my name(?: is|'s)|i am called|i'm called|call me)\s+([a-zäöüéèëïøåñç'’-]+)",
        "name",
        "Your name is {}.|You have not told me your name yet.",
    ),
    (
        r"\bwhere (?:do|did) i (?:live|say i live)\b|\bwhere am i from\b",
        r"\b(?:i live in|i'm from|i am from)\s+([\w'’ -]+?)(?=\s+(?:and|but|now)\b|[.,!?;]|$)",
        "default_location",
        "You live in {}.|You have not told me where you live yet.",
    ),
)
_SAID = (
    # what asks for what was said, and how many sentences are told again
    (r"\bwhat (?:did|have) i (?:just |last )?(?:ask|say|said|want)|\bwhat was my (?:last )?question\b", 1),
    (r"\bwhat (?:did|have) we (?:just )?(?:talk|talked|been talking|speak|spoken)\b.*\babout\b", 3),
)


def remembered(words: str, before: Sequence[Said], known: str) -> str | None:
    """The answer to a question about the conversation itself; None when `words` are no such question.

    `before` is what was said before them, oldest first; `known` what the instructions tell of the user.
    """
    plain = words.strip().lower().replace("’", "'")
    asked = [text.strip() for role, text in before if role == "user" and text.strip()]
    for question, said, name, answers in _ASKED:
        if re.search(question, plain):
            told = [found for text in asked for found in re.findall(said, text, re.IGNORECASE)]
            there, absent = answers.split("|")
            value = next(iter([*told[-1:], *known_of(known, name)]), "")
            return there.format(re.sub(r"(?<!\S)\w", lambda begun: begun[0].upper(), value)) if value else absent
    count = next((count for question, count in _SAID if re.search(question, plain)), 0)
    if not count:
        return None
    said_before = " ".join(map(wording.closed, asked[-count:]))
    return f"You said: {said_before}" if asked else "You have not said anything before that."


def known_of(known: str, name: str) -> list[str]:
    """Return what the instructions tell of the user by a name, as in `"watched_tickers": ["AAPL"]`; [] for nothing."""
    found = re.search(rf'"{name}":\s*("[^"]+"|\[[^\]]*\])', known) if name else None
    value = wording.read(found[1]) if found else []
    return value if isinstance(value, list) else [str(value)]
