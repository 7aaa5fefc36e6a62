"""A question, who should answer it, and what their tool should be asked."""

from __future__ import annotations

from dataclasses import dataclass

SMALL_TALK = ""
"""The domain of what the Responder answers itself."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, who should answer it, and what their tool should be asked."""

    words: str
    domain: str
    tool: str = ""
    """Empty: only the domain counts."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Names and what their values contain, in lower case; a name may be a path such as 'values.weight_kg'."""
    before: tuple[str, ...] = ()
    """What the caller said before."""


def weather(words: str, place: str, *before: str) -> Asked:
    return Asked(words, "weather", "get_current_weather", (("location", place),), before)


def stocks(words: str, company: str, *before: str) -> Asked:
    return Asked(words, "stocks", "get_stock_price", (("symbol", company),), before)


def news(words: str, **arguments: str) -> Asked:
    return Asked(words, "news", "get_news_headlines", tuple(arguments.items()))


def reminder(words: str, **arguments: str) -> Asked:
    return Asked(words, "assistant", "reminders", tuple(arguments.items()))


def note(words: str, **arguments: str) -> Asked:
    return Asked(words, "assistant", "notes", tuple(arguments.items()))


def events(words: str, **arguments: str) -> Asked:
    return Asked(words, "assistant", "calendar_list_events", tuple(arguments.items()))


def event(words: str, **arguments: str) -> Asked:
    return Asked(words, "assistant", "calendar_create_event", tuple(arguments.items()))


def memory(words: str, **arguments: str) -> Asked:
    return Asked(words, "memory", "memory", tuple(arguments.items()))


def issue(words: str, **arguments: str) -> Asked:
    return Asked(words, "engineering", "github_issue", tuple(arguments.items()))


def computes(words: str, value: str, domain: str = "reason") -> Asked:
    return Asked(words, domain, "calculate", (("expression", f"={value}"),))


def score(words: str, score: str, **values: str) -> Asked:
    given = tuple((f"values.{name}", value) for name, value in values.items())
    return Asked(words, "medical", "medical_calculator", (("score", score), *given))
