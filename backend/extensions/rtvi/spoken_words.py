"""Divides the assistant's words into the sentences of RTVI's `bot-output` messages. Pure.

A sentence is sent when its words have come (`new`), and again once it was heard in full (`completed`) or in part
(`in-progress`). Clients of the protocol's first version get the flag `spoken` instead.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from backend.extensions.rtvi.messages import message
from backend.runtime.json_objects import Json

SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]]*\s+")
ITEMS_LIMIT = 32
"""The most items that are remembered until they were heard."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence."""

    id: int
    text: str


@dataclass(slots=True)
class _Item:
    segments: list[Segment] = field(default_factory=list)
    rest: str = ""
    """The words after the last whole sentence."""
    sounding: bool = False


class SpokenWords:
    """The sentences of the items that were not heard out yet."""

    def __init__(self) -> None:
        self.legacy = False
        """True if the client speaks the protocol's first version."""
        self._items: dict[str, _Item] = {}
        self._next = 0

    def grew(self, name: str, delta: str) -> Iterator[Json]:
        """Add words to an item."""
        item = self._item(name)
        item.rest += delta
        while end := SENTENCE_END.search(item.rest):
            sentence, item.rest = item.rest[: end.end()], item.rest[end.end() :]
            yield from self._segment(item, sentence)

    def worded(self, name: str) -> Iterator[Json]:
        """Note that all words of an item have come."""
        item = self._item(name)
        rest, item.rest = item.rest, ""
        yield from self._segment(item, rest)

    def sounds(self, name: str) -> Iterator[Json]:
        """Note that the first sound of an item is on its way to the client."""
        item = self._item(name)
        if not item.sounding:
            item.sounding = True
            yield from map(_spoken, item.segments)

    def heard(self, name: str, words: str | None = None) -> Iterator[Json]:
        """End an item that was heard in full, or only as far as `words`."""
        yield from self.worded(name)
        item = self._items.pop(name)
        left = len("".join(words.split())) if words is not None else None  # spaces are not said
        for segment in item.segments:
            size = len("".join(segment.text.split()))
            if left is None or left >= size:
                yield self._output(segment, "completed", len(segment.text))
            elif left > 0:
                yield self._output(segment, "in-progress", _place(segment.text, left))
            left = None if left is None else max(0, left - size)

    def _item(self, name: str) -> _Item:
        if name not in self._items:
            self._items[name] = _Item()
            if len(self._items) > ITEMS_LIMIT:
                del self._items[next(iter(self._items))]
        return self._items[name]

    def _segment(self, item: _Item, sentence: str) -> Iterator[Json]:
        text = sentence.strip()
        if not text:
            return
        self._next += 1
        segment = Segment(self._next, text)
        item.segments.append(segment)
        yield self._output(segment, "new", 0)
        yield message("bot-transcription", {"text": text})
        if item.sounding:
            yield _spoken(segment)

    def _output(self, segment: Segment, status: str, heard: int) -> Json:
        data: Json = {"text": segment.text, "aggregated_by": "sentence"}
        if self.legacy:
            return message("bot-output", data | {"spoken": status == "completed"})
        progress = {"accumulated_text": segment.text[:heard], "remaining_text": segment.text[heard:]}
        data |= {"segment_id": segment.id, "will_be_spoken": True, "spoken_status": status}
        return message("bot-output", data | ({} if status == "new" else {"spoken_progress": progress}))


def _spoken(segment: Segment) -> Json:
    return message("bot-tts-text", {"text": segment.text})


def _place(text: str, letters: int) -> int:
    """Return the position in `text` after a number of letters, without counting spaces."""
    for place, letter in enumerate(text):
        if letters <= 0:
            return place
        letters -= not letter.isspace()
    return len(text)
