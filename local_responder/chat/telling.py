"""A tool's result as a short spoken answer: by what it holds, whatever tool it comes from. Pure.

A result that brings a sentence of its own is told by it. Of any other, a plugin's too, it is told what was done, what
was found, or what its plain values are.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_responder.chat.asked import CHANGES, Asked, wish_of
from local_responder.chat.numbers import problem_in
from local_responder.dialogue import wording
from local_responder.dialogue.keeping import to_you
from local_responder.dialogue.times import said, timed

Result = Mapping[str, Any]

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_DONE: dict[str, str] = _TEXTS["done"]
_FOUND: dict[str, tuple[str, str]] = _TEXTS["found"]
ASIDE = ("note", "sample", "citations", "calendar")
"""Values that stand beside what a tool has found or done."""
_PAGES = ("results", "passages", "articles")
_STATES = {"queued": "waiting", "running": "at work", "canceled": "stopped"}
_MOST = 5
"""Entries that are told."""
_LONGEST = 240
"""Characters of a page that are read aloud."""
SAMPLE = "That was sample data: live data cannot be reached from here."
UNWORDED = "I got an answer that I cannot put into words."
_NOT_NAMED = re.compile(r"^No \w+ was named\b.* Ask which (\w+) is meant")


def worded(asked: Asked, tool: str, output: str) -> str:
    """Return what is said of a tool's output: also of a failure, and of a sample that it is one."""
    result = wording.read(output)
    if isinstance(result, str):
        return wording.spoken(result)
    if not isinstance(result, Mapping):
        return UNWORDED
    if error := result.get("error"):
        if isinstance(error, Mapping) and error.get("type") == "needs_confirmation":
            return wording.question_of_consent(asked.sentence)
        message = wording.spoken(str(error.get("message", "") if isinstance(error, Mapping) else error))
        if asks := _NOT_NAMED.search(message):
            return f"Which {asks[1]} do you mean?"
        reason = wording.closed(message.partition(". ")[0])  # what follows is often advice to a model
        return f"I am sorry, I could not find that out. {reason if message else ''}".strip()
    words = told(asked, tool, result) or UNWORDED
    is_sample = result.get("sample") is True or result.get("source") == "sample"
    return f"{words} {SAMPLE}" if is_sample and "sample" not in words.lower() else words


def told(asked: Asked, tool: str, result: Result) -> str:
    """Return what is said of a result; '' for one that holds nothing that can be said."""
    try:
        return _of_its_kind(asked, result) or _of_any_kind(asked, tool, result)
    except (KeyError, TypeError, AttributeError, ValueError):
        return ""


def _of_its_kind(asked: Asked, result: Result) -> str:
    """Return what is said of a result by the names of its values; '' for any other."""
    match result:
        case {"spoken": str(words)} | {"answer": str(words)}:
            return wording.spoken(words)
        case {"current": _, "place": {"name": place}}:
            return _weather(asked.sentence, str(place), result)
        case {"company": company, "price": price, "change_percent": change, "direction": moved}:
            currency = "dollars" if result.get("currency", "USD") == "USD" else result["currency"]
            by = f" {abs(change):g} percent" if moved != "unchanged" else ""
            return f"{company} is at {f'{price:.2f}'.removesuffix('.00')} {currency}, {moved}{by} today."
        case {"shares": [*shares]} if shares:
            return " ".join(_of_its_kind(asked, share) for share in shares)
        case {"score": str(title), "value": value, "meaning": meaning}:
            title = title[0].lower() + title[1:] if title[1:2].islower() else title
            amount = f"{value:g} {result.get('unit') or ''}".strip()
            return f"The {title} is {amount}: {meaning}."
        case {"value": value}:
            return problem_in(asked.sentence)[1].format(f"{value:g}")
        case {"mode": mode, "description": description}:
            return f"The mode {mode} is on. {description or result['personality']}"
        case {"instruction": _, "outcome": outcome}:
            return f"I have stopped this: {subject_of(result)}." if outcome == "canceled" else "It was over already."
        case {"instruction": _, "state": "queued" | "running"}:
            return (
                f"I am still working on this: {', '.join(filter(None, (subject_of(result), result.get('progress'))))}."
            )
        case {"instruction": _, "state": state}:
            begun = "About" if state == "done" else "Nothing came of"
            end = wording.gist(result["result"]) if state == "done" else result.get("error") or "It was stopped."
            return f"{begun} this: {subject_of(result)}. {end}"
        case {"result": str(words)} | {"summary": str(words)} | {"text": str(words)} | {"message": str(words)}:
            return wording.spoken(words)
    return ""


def _of_any_kind(asked: Asked, tool: str, result: Result) -> str:
    """Return what was done or found, or else the plain values."""
    for key, value in result.items():
        if isinstance(value, list) and (key in _FOUND or key in _PAGES or len(result.keys() - {*ASIDE}) == 1):
            return _list(asked, key, value, more=bool(result.get("more")))
        done = _DONE.get(f"{tool.partition('_')[0]} {key}")
        if done or (isinstance(value, Mapping) and key not in ASIDE):
            again = "That was there already: " if tool.startswith("github") and "note" in result else ""
            return again + (_done(asked, done, value) if done else f"I have {key} this: {_line(value)}.")
    plain = [(name, value) for name, value in result.items() if name not in ASIDE and value not in (None, [], "")]
    texts = [(name, _joined(value) if isinstance(value, list) else value) for name, value in plain]
    values = "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in texts[:_MOST])
    return f"{values[0].upper()}{values[1:]}." if values else ""


def _done(asked: Asked, words: str, value: Any) -> str:
    """Return what was done with something; `yours` is its text said to whoever said it, `then` when it comes."""
    thing = value if isinstance(value, Mapping) else {"text": value}
    given = {"title": "", "text": "", **thing, "yours": to_you(str(thing.get("text", "")))}
    if "{then}" in words:
        at = wish_of(asked.plain, ("create",)).time.when
        given["then"] = at if at.lower().startswith("in ") else _when(thing)
    elif "when" in given:
        given["when"] = said(given["when"])
    return words.format(_line(thing), **given).strip()


def _list(asked: Asked, key: str, entries: Sequence[Any], *, more: bool) -> str:
    if key in _PAGES:
        return _page(entries[0]) if entries else "That search found nothing."
    if key in ("events", "notes") and wish_of(asked.plain, (*CHANGES, "create")).action in CHANGES:
        one, when = key.rstrip("s"), ", and when should it be" if key == "events" else ""
        return f"Which {one} do you mean{when}? There is {_joined(entries)}." if entries else f"I find no such {one}."
    words, none = _FOUND.get(key, (f"{key.replace('_', ' ').capitalize()}: {{}}.", f"There are no {key}."))
    lines = [to_you(each["text"]) if key == "memories" else wording.closed(_line(each)) for each in entries[:3]]
    listed = " ".join(lines) if words.endswith("{}") else _joined(entries) + ("; and more" if more else "")
    return words.format(listed) if entries else none


def _joined(entries: Sequence[Any]) -> str:
    more = f"; and {len(entries) - _MOST} more" if len(entries) > _MOST else ""
    return "; ".join(map(_line, entries[:_MOST])) + more


def _line(entry: Any) -> str:
    """Return one thing in a few words: what it is, who says so, and when it is."""
    if not isinstance(entry, Mapping):
        return str(entry)
    thing = next((str(entry[name]) for name in ("title", "text", "instruction", "name") if entry.get(name)), "")
    if "author" in entry:
        return f"{entry['author'] or 'Somebody'} says: {thing}"
    if "repeat" in entry:
        return f"{thing}, {_when(entry)}"
    number = f"{entry['number']}, " if "number" in entry else ""
    state = f": {_STATES.get(entry['state'], entry['state'])}" if "instruction" in entry else ""
    source = entry.get("source", "sample")
    says = f", says {source}" if source != "sample" else ""
    when = f", {'for ' if 'due' in entry else ''}{said(entry['when'])}" if entry.get("when") else ""
    return f"{number}{thing.rstrip('. ')}{state}{says}{when}"


def _when(reminder: Result) -> str:
    """'on Friday, 27 November, at 15:00'; without a clock of the user's, how long it is until then."""
    if not reminder.get("when"):
        minutes = max(0, int(reminder["in_s"])) // 60
        return f"in {minutes} minutes" if minutes > 1 else "in a minute"
    return f"on {said(reminder['when'])}" + ("" if reminder["repeat"] == "none" else ", and again after that")


def _page(found: Result) -> str:
    """Return a page's title, and the first sentences of it that fit into what one can listen to."""
    title = str(found.get("title") or found.get("document") or "One source").rstrip(".")
    text = next((str(found[name]) for name in ("excerpt", "text", "abstract", "summary") if found.get(name)), "")
    begun = textwrap.shorten(wording.gist(text), _LONGEST, placeholder=" and so on.")
    return f"{title}: {begun}" if begun else f"I found: {title}."


def subject_of(task: Result) -> str:
    """Return what a task is about, without its last mark."""
    return str(task.get("instruction", "")).strip().rstrip(".?!")


def _weather(sentence: str, place: str, data: Result) -> str:
    degrees = f"degrees {str(data.get('unit', '')).title()}".strip()
    if day := _day(sentence, data.get("daily") or []):
        chance = day.get("precipitation_chance_percent")
        rain = f" The chance of rain is {chance} percent." if chance is not None else ""
        between = f"between {day['low']} and {day['high']} {degrees}"
        return f"{place}, {day['weekday']}: {day['conditions']}, {between}.{rain}"
    now = data["current"]
    feels = now.get("feels_like", now["temperature"])
    also = f"; it feels like {feels}." if feels != now["temperature"] else "."
    return f"In {place} it is {now['temperature']} {degrees}{_sky(str(now['conditions']))}{also}"


def _sky(conditions: str) -> str:
    """How conditions join a sentence: ' and partly cloudy', ', with light rain', ', with a clear sky'."""
    if re.search(r"(?:clear|cloudy|overcast|sunny|foggy|windy)$", conditions):
        return f" and {conditions}"
    return f", with {'a ' if re.search(r'(?:sky|thunderstorm)$', conditions) else ''}{conditions}"


def _day(sentence: str, daily: Sequence[Result]) -> Result | None:
    """The forecast's entry for the day that was asked for; None for now."""
    wanted = timed(sentence).day.lower()
    if wanted.startswith("tomorrow"):
        return daily[1] if len(daily) > 1 else None
    return next((day for day in daily if day.get("weekday", "none").lower() in wanted), None)
