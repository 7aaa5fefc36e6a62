"""When each utterance of a call was said, and each of its words, on the recording's clock. Pure: times are arguments.

What the assistant said sounded where its frames were played: pauses and what was never played are no part of it. A word
begins where the Responder says that it begins in the audio; where it does not say, words share the time by their
length. What the caller said sounded between the onsets and pauses of their voice, and its words share that
time by their length: no recogniser here says more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypedDict

from backend import page_events as page
from backend.media.frame import BYTES_PER_MS, FRAME_MS
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
    exact: bool
    """The Responder reported the times of the words; otherwise they are estimates."""
    words: list[TimedWord]


@dataclass(slots=True)
class _SpokenItem:
    """One item of the assistant: where it sounded, and when its words begin in its audio."""

    spans: list[Span] = field(default_factory=list)
    audio_bytes: int = 0
    starts_ms: list[int] = field(default_factory=list)
    words: int = 0
    """Words so far, timed or not: times count only if all words have one."""


class UtteranceTimes:
    """Follows a call's events, and makes an utterance of each item with final words."""

    def __init__(self) -> None:
        self._voiced: list[Span] = []  # of the caller's utterance under way
        self._voice_since: int | None = None
        self._ended: list[list[Span]] = []  # the caller's utterances that are no item yet
        self._of_user: dict[str, list[Span]] = {}
        self._items: dict[str, _SpokenItem] = {}
        self._playing = ""

    def __repr__(self) -> str:
        return f"UtteranceTimes({len(self._of_user)} items of the caller, {len(self._items)} of the assistant)"

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
            case ev.ReplyAudio(_, item, pcm):
                self._item(item).audio_bytes += len(pcm)
            case ev.ReplyText(_, item, delta, starts_ms):
                self._add_words(self._item(item), delta, starts_ms)
            case ev.PlaybackStarted(item):
                self._playing = item

    def on_played(self, at_ms: int) -> None:
        """Note that a frame of the item that plays sounds at `at_ms`."""
        spans = self._item(self._playing).spans
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
                spoken = self._items.get(item, _SpokenItem())
                cut = isinstance(event, page.TranscriptInterrupted)
                starts = spoken.starts_ms if len(spoken.starts_ms) == spoken.words else []
                return _utterance("assistant", item, text, spoken.spans, at_ms, interrupted=cut, starts_ms=starts)
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
        if len(self._of_user) > ITEMS_LIMIT:
            del self._of_user[next(iter(self._of_user))]

    def _item(self, item: str) -> _SpokenItem:
        if item not in self._items:
            self._items[item] = _SpokenItem()
            if len(self._items) > ITEMS_LIMIT:
                del self._items[next(iter(self._items))]
        return self._items[item]

    @staticmethod
    def _add_words(spoken: _SpokenItem, delta: str, starts_ms: tuple[int, ...]) -> None:
        words = len(delta.split())
        spoken.words += words
        if len(starts_ms) == words:
            spoken.starts_ms += [spoken.audio_bytes // BYTES_PER_MS + start for start in starts_ms]


def _utterance(
    role: Role,
    item: str,
    text: str,
    spans: list[Span],
    at_ms: int,
    *,
    interrupted: bool = False,
    typed: bool = False,
    starts_ms: list[int] | None = None,
) -> RecordedUtterance | None:
    text = text.strip()
    if not text or (role == "assistant" and not spans):  # what never sounded is not part of a recording
        return None
    spans = spans or [(at_ms, at_ms)]
    words = text.split()[:WORDS_LIMIT]
    exact = bool(starts_ms) and len(starts_ms or ()) >= len(words)
    timed = _timed(words, (starts_ms or [])[: len(words)], spans) if exact else _shared_out(words, spans)
    return {
        "role": role,
        "item_id": item,
        "text": text,
        "from_ms": spans[0][0],
        "to_ms": spans[-1][1],
        "interrupted": interrupted,
        "typed": typed,
        "exact": exact,
        "words": [] if typed else timed,
    }


def _timed(words: list[str], starts_ms: list[int], spans: list[Span]) -> list[TimedWord]:
    """Return each word with its time until the next one; `starts_ms` count in the sound that was heard."""
    begins = [_moment(start, spans) for start in starts_ms]
    ends = [*begins[1:], spans[-1][1]]
    return [(word, begin, max(begin, end)) for word, begin, end in zip(words, begins, ends, strict=True)]


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
