"""Handling of faulty records and messages, which are skipped, counted and logged, so that their loop goes on.

`/metrics` shows both counters. A log line is written for the first fault of a kind and whenever their number has
doubled, so that a bad record that is read every second does not fill the log. Logs hold no words of users.
"""

import logging
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

log = logging.getLogger(__name__)

skipped_records: Counter[str] = Counter()
"""The number of records and messages that this process could not decode, by kind."""
observer_failures: Counter[str] = Counter()
"""The number of errors that listeners of this process raised, by what they listen to."""

R = TypeVar("R")
T = TypeVar("T")


def decode_or_skip(kind: str, raw: R, decode: Callable[[R], T]) -> T | None:
    """Return `decode(raw)`; if that raises, count the skipped record under `kind` and return None.

    `kind` is a label of metrics and logs: short, without anything personal.
    """
    try:
        return decode(raw)
    except (msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError) as error:
        skip_record(kind, error)
        return None


def decode_all(kind: str, raw: Iterable[R], decode: Callable[[R], T]) -> list[T]:
    """Return the records of `raw` that can be decoded, in order; skip the others and count them under `kind`."""
    found = (decode_or_skip(kind, each, decode) for each in raw)
    return [each for each in found if each is not None]


def skip_record(kind: str, error: Exception) -> None:
    """Count a record of `kind` that cannot be used because of `error`."""
    skipped_records[kind] += 1
    if _is_power_of_two(skipped_records[kind]):
        found = (type(error).__name__, skipped_records[kind])
        log.warning("a record of the kind %s cannot be read (%s) and is skipped; so far: %d", kind, *found)


def call_observer(name: str, observer: Callable[..., object], *arguments: Any) -> None:
    """Call `observer`; if it raises, count the error under `name` and log it, so that other listeners go on."""
    try:
        observer(*arguments)
    except Exception as error:  # noqa: BLE001 - other observers and messages wait behind it
        observer_failures[name] += 1
        if _is_power_of_two(observer_failures[name]):
            frame = traceback.extract_tb(error.__traceback__)[-1]  # without the message, which may hold a user's words
            found = (type(error).__name__, frame.filename, frame.lineno, observer_failures[name])
            log.error("an observer of %s failed (%s at %s:%s); so far: %d", name, *found)


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0
