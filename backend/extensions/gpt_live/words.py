"""The words of a GPT-Live session: fragments of both sides, without turns and without end marks.

They become the transcripts of the caller's turns, and the task of a delegation, which brings no text: the caller's
latest words, and the model's words since.
"""

import json

from backend.turns import events as ev
from backend.turns.events import ResponderEvent

WHOLE_AFTER_S = 0.35
"""Seconds without further words after which the caller's words count as whole."""
WORDLESS_AFTER_S = 1.5
"""Seconds after the end of speech within which its first words come, if there are any."""
NEW_TURN_MS = 1_500
"""Milliseconds of the caller's silence, with words of the model in it, after which another turn begins."""
ANNOUNCED_CHARS = 500
SAID_CHARS = 4_000


class LiveWords:
    """The words so far. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._said = ""
        self._announced = ""
        self._said_end_ms = 0
        self._said_at = float("-inf")
        self._item = ""  # the item of the caller's turn without final words
        self._before: str | None = None
        self._committed_at = 0.0
        self._item_words = ""
        self._early = ""  # words of speech that is not committed yet

    @property
    def task(self) -> str:
        """The arguments of a delegation, as JSON."""
        task = {"said": self._said.strip()[-SAID_CHARS:], "announced": self._announced.strip()[-ANNOUNCED_CHARS:]}
        return json.dumps(task, ensure_ascii=False)

    def task_whole_at(self, delegated_at: float) -> float:
        """Return the time at which the words of a task that was delegated at `delegated_at` count as whole."""
        if not self._said:
            return delegated_at + WORDLESS_AFTER_S
        return min(max(delegated_at, self._said_at + WHOLE_AFTER_S), delegated_at + WORDLESS_AFTER_S)

    def type_(self, text: str) -> None:
        """Take words that were typed instead of spoken."""
        self._said, self._announced = text, ""

    def add_announced(self, words: str) -> None:
        """Take words of the model."""
        self._announced += words

    def add_said(self, words: str, start_ms: int | None, end_ms: int | None, now: float) -> list[ResponderEvent]:
        """Take words of the caller at that place in the session; return the events to report."""
        gap_ms = NEW_TURN_MS if start_ms is None else start_ms - self._said_end_ms
        if self._announced and gap_ms >= NEW_TURN_MS:
            self._said = self._announced = ""
        self._said += words
        self._said_end_ms = end_ms if end_ms is not None else self._said_end_ms
        self._said_at = now
        if not self._item:
            self._early += words
            return []
        self._item_words += words
        return [ev.UserTranscriptGrew(self._item, words)]

    def commit(self, item: str, now: float) -> list[ResponderEvent]:
        """Make an item of the caller's words; return the events to report."""
        events = [*self.close(), ev.InputCommitted(item, self._before)]
        self._item = self._before = item
        self._committed_at = now
        self._item_words, self._early = self._early, ""
        if self._item_words:
            events.append(ev.UserTranscriptGrew(item, self._item_words))
        return events

    def clear(self) -> None:
        """Forget the words of speech that was no turn."""
        self._early = ""

    def close(self) -> list[ResponderEvent]:
        """Treat the open item's words as whole."""
        item, self._item = self._item, ""
        return [ev.UserTranscribed(item, self._item_words.strip())] if item else []

    def close_as_far(self) -> list[ResponderEvent]:
        """Treat the open item's words as whole if there are any."""
        return self.close() if self._item_words else []

    def whole_at(self) -> float | None:
        """Return the time at which the open item's words count as whole; None without an open item."""
        if not self._item:
            return None
        if not self._item_words:
            return self._committed_at + WORDLESS_AFTER_S
        return max(self._committed_at, self._said_at) + WHOLE_AFTER_S
