"""The transcript of a session, in the order in which things were said, though the caller's words are often known last.

An item takes its place when it first appears (a committed utterance, a reply's first word); its words are
filled in when they are final.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NotRequired, TypedDict

from backend.page_events import (
    PageEvent,
    TranscriptCompleted,
    TranscriptDelta,
    TranscriptInterrupted,
    UserItemAdded,
)

TRANSCRIPT_LIMIT = 1_000
"""The number of entries kept of one session."""


class TranscriptEntry(TypedDict):
    """One item of a transcript, as `GET /api/sessions/{id}/transcript` shows it."""

    role: str
    content: str
    item_id: str
    at: float
    """When it began, in Unix time."""
    interrupted: NotRequired[bool]


class Transcript:
    """One session's transcript, bounded; iterating yields the entries that have words."""

    def __init__(self, limit: int = TRANSCRIPT_LIMIT) -> None:
        self._entries: dict[str, TranscriptEntry] = {}
        self._limit = limit

    def __iter__(self) -> Iterator[TranscriptEntry]:
        return (entry for entry in self._entries.values() if entry["content"])

    def is_settled(self, item_id: str) -> bool:
        """Return whether the item has its words; a turn of the caller's that goes on is settled again, with more."""
        return item_id in self._entries and bool(self._entries[item_id]["content"])

    def add(self, event: PageEvent) -> None:
        """Enter the information of `event` about an item; most events have none."""
        match event:
            case UserItemAdded(item_id):
                self._entry("user", item_id)
            case TranscriptDelta(role, item_id):
                self._entry(role, item_id)
            case TranscriptCompleted(role, item_id, content):
                entry = self._entry(role, item_id)
                entry["content"] = _heard_before(entry, content)
                entry.pop("interrupted", None)
            case TranscriptInterrupted(item_id, heard):
                entry = self._entry("assistant", item_id)
                entry.update({"content": _heard_before(entry, heard), "interrupted": True})

    def _entry(self, role: str, item_id: str) -> TranscriptEntry:
        if item_id not in self._entries:
            while len(self._entries) >= self._limit:
                del self._entries[next(iter(self._entries))]
            self._entries[item_id] = {"role": role, "content": "", "item_id": item_id, "at": time.time()}
        return self._entries[item_id]


def _heard_before(entry: TranscriptEntry, words: str) -> str:
    """Return the words of a reply after the part that was heard; it was cut, brought back, and has gone on."""
    return f"{entry['content']} {words}".strip() if "interrupted" in entry else words
