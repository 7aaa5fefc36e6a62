"""When each utterance of a call was said, and each of its words, on the recording's clock. Pure: times are arguments.

What the assistant said sounded where its frames were played: pauses and what was never played are no part of it. What
the caller said sounded between the onsets and pauses of their voice. Words share that time by their length.
"""

from __future__ import annotations

import re
from typing import TypedDict

from backend import page_events as page
from backend.media.frame import FRAME_MS
from backend.page_events import Role
from backend.turns import events as ev

ONSET_MS = 120
"""Milliseconds after which an onset is reported: the voice began so much earlier."""
SAME_TURN_MS = 3_000
"""The longest pause between two parts of one utterance."""
SPANS_LIMIT = 200
"""Spans of sound noted of one utterance."""
ITEMS_LIMIT = 32
"""Items of the assistant with sound and words noted at the same time."""
WORDS_LIMIT = 2_000
"""Words of one utterance that get a time each."""

Span = tuple[int, int]
"""From, to: milliseconds since the recording began."""
TimedWord = tuple[str, int, int]
"""A word, and its span."""


class RecordedUtterance(TypedDict):
    """One thing that was said, as it is stored and shown. Times are milliseconds since the recording began."""

    role: Role
    item_id: str
    text: str
    from_ms: int
    to_ms: int
    interrupted: bool
    """Only the beginning of the utterance was heard; it is the text."""
    typed: bool
    """It was typed: nothing sounds."""
    words: list[TimedWord]


class UtteranceTimes:
    """Follows a call's events, and makes an utterance of each item with final words."""

    def __init__(self) -> None:
        self._voiced: list[Span] = []  # of the caller's utterance under way
        self._voice_since: int | None = None
        self._ended: list[list[Span]] = []  # the caller's utterances that are no item yet
        self._of_user: dict[str, list[Span]] = {}
        self._of_assistant: dict[str, list[Span]] = {}
        self._playing = ""

    def __repr__(self) -> str:
        return f"UtteranceTimes({len(self._of_user)} items of the caller, {len(self._of_assistant)} of the assistant)"

    def on_event(self, event: ev.Event, at_ms: int) -> None:
        """Note the times in an event of the turn machine; most have none."""
        match event:
            case ev.SpeechStarted():
                self._voiced, self._voice_since = [], max(0, at_ms - ONSET_MS)
            case ev.SpeechResumed():
                self._voice_since = at_ms
            case ev.SpeechPaused() | ev.SpeechStopped():
                self._pause(at_ms, ended=isinstance(event, ev.SpeechStopped))
            case ev.InputCommitted(item):
                self._commit(item, at_ms)
            case ev.PlaybackStarted(item):
                self._playing = item

    def on_played(self, at_ms: int) -> None:
        """Note that a frame of the item that plays sounds at `at_ms`."""
        spans = self._of_assistant.setdefault(self._playing, [])
        _forget_oldest(self._of_assistant)
        if spans and 0 <= at_ms - spans[-1][1] <= FRAME_MS:
            spans[-1] = (spans[-1][0], at_ms + FRAME_MS)
        elif len(spans) < SPANS_LIMIT:
            spans.append((at_ms, at_ms + FRAME_MS))

    def settled(self, event: page.PageEvent, at_ms: int) -> RecordedUtterance | None:
        """Return the utterance that `event` completes, if any; one that is completed again has more words."""
        match event:
            case page.TranscriptCompleted("user", item, text):
                spans = self._of_user.get(item, [])
                return _utterance("user", item, text, spans, at_ms, typed=not spans)
            case page.TranscriptCompleted("assistant", item, text) | page.TranscriptInterrupted(item, text):
                spans = self._of_assistant.get(item, [])
                cut = isinstance(event, page.TranscriptInterrupted)
                return _utterance("assistant", item, text, spans, at_ms, interrupted=cut)
        return None

    def _pause(self, at_ms: int, *, ended: bool) -> None:
        if self._voice_since is not None and len(self._voiced) < SPANS_LIMIT:
            self._voiced.append((self._voice_since, max(at_ms, self._voice_since)))
        self._voice_since = None
        if ended and self._voiced:
            self._ended = [*self._ended[-SPANS_LIMIT:], self._voiced]
            self._voiced = []

    def _commit(self, item: str, at_ms: int) -> None:
        """Give an item the utterances that led to it: the last, and those before it that follow each other closely."""
        ended, self._ended = self._ended, []
        if not ended and self._voiced:
            ended = [self._voiced]
        spans: list[Span] = []
        for utterance in reversed(ended):
            if spans and spans[0][0] - utterance[-1][1] > SAME_TURN_MS:
                break
            spans = utterance + spans
        self._of_user[item] = spans
        _forget_oldest(self._of_user)


def _forget_oldest(items: dict[str, list[Span]]) -> None:
    if len(items) > ITEMS_LIMIT:
        del items[next(iter(items))]


def _utterance(
    role: Role,
    item: str,
    text: str,
    spans: list[Span],
    at_ms: int,
    *,
    interrupted: bool = False,
    typed: bool = False,
) -> RecordedUtterance | None:
    text = text.strip()
    if not text or (role == "assistant" and not spans):  # what never sounded is not part of a recording
        return None
    spans = spans or [(at_ms, at_ms)]
    return {
        "role": role,
        "item_id": item,
        "text": text,
        "from_ms": spans[0][0],
        "to_ms": spans[-1][1],
        "interrupted": interrupted,
        "typed": typed,
        "words": [] if typed else _shared_out(text.split()[:WORDS_LIMIT], spans),
    }


def _shared_out(words: list[str], spans: list[Span]) -> list[TimedWord]:
    """Return the words with shares of the spans' time, each by its letters and the pause behind it."""
    weights = [len(re.sub(r"\W", "", word)) + 1 for word in words]
    sounding = sum(end - begin for begin, end in spans)
    total, so_far, timed = sum(weights) or 1, 0, []
    for word, weight in zip(words, weights, strict=True):
        begin = _moment(sounding * so_far // total, spans)
        so_far += weight
        timed.append((word, begin, max(begin, _moment(sounding * so_far // total, spans, end=True))))
    return timed


def _moment(sounded_ms: int, spans: list[Span], *, end: bool = False) -> int:
    """Return when `sounded_ms` milliseconds of the spans have sounded; `end`: at the end of a span, not after it."""
    for begin, until in spans:
        length = until - begin
        if sounded_ms < length or (end and sounded_ms == length):
            return begin + sounded_ms
        sounded_ms -= length
    return spans[-1][1]
