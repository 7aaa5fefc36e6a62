"""What was said before, and what is known of the user, found again by rules, in calls and typed turns alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

Said = tuple[str, str]
"""(role, words)."""

_NAME_ASKED = re.compile(
    r"\b(?:what(?:'s| is| was)|(?:do|did) you (?:know|remember)|remember|tell me) my name\b|\bwho am i\b"
)
_HOME_ASKED = re.compile(r"\bwhere (?:do|did) i (?:live|say i live)\b|\bwhere am i from\b")
_QUESTION_ASKED = re.compile(
    r"\bwhat (?:did|have) i (?:just |last )?(?:ask|asked|say|said|want|wanted)\b|\bwhat was my (?:last )?question\b"
)
_TOPIC_ASKED = re.compile(r"\bwhat (?:did|have) we (?:just )?(?:talk|talked|been talking|speak|spoken)\b.*\babout\b")
_NAME = re.compile(r"\b(?:my name(?: is|'s)|i am called|i'm called|call me)\s+([a-zäöüéèëïøåñç'’-]+)", re.IGNORECASE)
_HOME = re.compile(
    r"\b(?:i live in|i'm from|i am from)\s+([\w'’ -]+?)(?=\s+(?:and|but|now)\b|[.,!?;]|$)", re.IGNORECASE
)
_KNOWN_NAME = re.compile(r'"name":\s*"([^"]+)"')
_KNOWN_HOME = re.compile(r'"default_location":\s*"([^"]+)"')
TOPICS = 3
"""Questions named when it is asked what was talked about."""


def remembered(words: str, before: Sequence[Said], known: str) -> str | None:
    """The answer to a question about the conversation itself; None when `words` are no such question.

    `before` is what was said before them, oldest first; `known` what the instructions tell of the user.
    """
    plain = words.strip().lower().replace("’", "'")
    asked = [text.strip() for role, text in before if role == "user" and text.strip()]
    if _NAME_ASKED.search(plain):
        name = _last(_NAME, asked) or _first(_KNOWN_NAME, known)
        return f"Your name is {name}." if name else "You have not told me your name yet."
    if _HOME_ASKED.search(plain):
        home = _last(_HOME, asked) or _first(_KNOWN_HOME, known)
        return f"You live in {home}." if home else "You have not told me where you live yet."
    if _QUESTION_ASKED.search(plain):
        return f"You said: {_closed(asked[-1])}" if asked else "You have not said anything before that."
    if _TOPIC_ASKED.search(plain):
        return f"You said: {' '.join(map(_closed, asked[-TOPICS:]))}" if asked else "About nothing yet."
    return None


def _last(pattern: re.Pattern[str], texts: Sequence[str]) -> str | None:
    found = next((match for text in reversed(texts) if (match := pattern.search(text))), None)
    return _capital(found[1]) if found else None


def _first(pattern: re.Pattern[str], known: str) -> str | None:
    found = pattern.search(known)
    return found[1] if found else None


def _capital(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in text.split())


def _closed(text: str) -> str:
    return text if text[-1] in ".?!" else f"{text}."
