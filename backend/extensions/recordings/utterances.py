"""The times of each utterance of a call and its words, on the recording's clock. Pure: times are arguments.

An utterance of the assistant lasts while its frames play; words that were never played are no part of it. An utterance
of the caller lasts from the first onset to the last pause of their voice. Its words share that time by their length.
"""

import re
from itertools import accumulate
from typing import TypedDict

from backend import page_events as page
from backend.media.frame import FRAME_MS
from backend.page_events import Role
from backend.turns import events as ev

ONSET_MS = 120
"""Milliseconds from the beginning of the voice to the report of its onset."""
SAME_TURN_MS = 3_000
"""The longest pause between two parts of one utterance."""
ITEMS_LIMIT = 32
"""The most items of each side with times that are remembered."""
WORDS_LIMIT = 2_000
"""The most words of one utterance that get a time each."""

Span = tuple[int, int]
"""From, to: milliseconds since the recording began."""
TimedWord = tuple[str, int, int]
"""A word, and its span."""


class RecordedUtterance(TypedDict):
    """One utterance, as it is stored and shown. Times are milliseconds since the recording began."""

    role: Role
    item_id: str
    text: str
    from_ms: int
    to_ms: int
    interrupted: bool
    """True if only the beginning of the utterance was heard; the text holds only that."""
    typed: bool
    """True if the utterance was typed, so that it has no sound."""
    words: list[TimedWord]


class UtteranceTimes:
    """Follows a call's events, and makes an utterance of each item with final words."""

    def __init__(self) -> None:
        self._voiced: Span | None = None  # the caller's speech that belongs to no item yet
        self._voice = False
        self._of_user: dict[str, Span] = {}
        self._of_assistant: dict[str, Span] = {}
        self._playing = ""

    def on_event(self, event: ev.Event, at_ms: int) -> None:
        """Note the times in an event of the turn machine; most have none."""
        match event:
            case ev.SpeechStarted():
                self._start(max(0, at_ms - ONSET_MS))
            case ev.SpeechResumed():
                self._voice = True
            case ev.SpeechPaused():
                self._pause(at_ms)
            case ev.InputCommitted(item):
                self._commit(item, at_ms)
            case ev.PlaybackStarted(item):
                self._playing = item

    def on_played(self, at_ms: int) -> None:
        """Note that a frame of the item that plays sounds at `at_ms`."""
        begin, _ = self._of_assistant.get(self._playing, (at_ms, at_ms))
        _note(self._of_assistant, self._playing, (begin, at_ms + FRAME_MS))

    def settled(self, event: page.PageEvent, at_ms: int) -> RecordedUtterance | None:
        """Return the utterance that `event` completes, if any; one that is completed again has more words."""
        match event:
            case page.TranscriptCompleted("user", item, text):
                span = self._of_user.get(item)
                return _utterance("user", item, text, span or (at_ms, at_ms), typed=span is None)
            case page.TranscriptCompleted("assistant", item, text) | page.TranscriptInterrupted(item, text):
                span = self._of_assistant.get(item)
                cut = isinstance(event, page.TranscriptInterrupted)
                return _utterance("assistant", item, text, span, interrupted=cut) if span else None
        return None

    def _start(self, at_ms: int) -> None:
        """Begin an utterance, or go on with the last one after a short pause."""
        self._voice = True
        if self._voiced is None or at_ms - self._voiced[1] > SAME_TURN_MS:
            self._voiced = (at_ms, at_ms)

    def _pause(self, at_ms: int) -> None:
        self._voice = False
        if self._voiced is not None:
            self._voiced = (self._voiced[0], at_ms)

    def _commit(self, item: str, at_ms: int) -> None:
        """Give an item the time of the speech until now."""
        if self._voice:
            self._pause(at_ms)
        if self._voiced is not None:
            _note(self._of_user, item, self._voiced)
        self._voiced = None


def _note(items: dict[str, Span], item: str, span: Span) -> None:
    items[item] = span
    if len(items) > ITEMS_LIMIT:
        del items[next(iter(items))]


def _utterance(
    role: Role, item: str, text: str, span: Span, *, interrupted: bool = False, typed: bool = False
) -> RecordedUtterance | None:
    text = text.strip()
    if not text:
        return None
    return {
        "role": role,
        "item_id": item,
        "text": text,
        "from_ms": span[0],
        "to_ms": span[1],
        "interrupted": interrupted,
        "typed": typed,
        "words": [] if typed else _shared_out(text.split()[:WORDS_LIMIT], span),
    }


def _shared_out(words: list[str], span: Span) -> list[TimedWord]:
    """Return the words with shares of the span, each by its letters and the pause behind it."""
    ends = list(accumulate(len(re.sub(r"\W", "", word)) + 1 for word in words))
    begin, length = span[0], span[1] - span[0]
    places = [begin + length * end // ends[-1] for end in (0, *ends)]
    return list(zip(words, places, places[1:], strict=False))
