"""The messages that really went over the wire, kept for tests: `GET /debug/connections`. Bounded in every direction.

Entries are kept as JSON: the objects of a hundred connections' logs would be walked through by the garbage collector,
for tens of milliseconds each time.
"""

from __future__ import annotations

import base64
import time
from collections import deque
from typing import Any

import msgspec

from backend.media.frame import BYTES_PER_MS
from backend.realtime.conversation import Conversation
from backend.realtime.serving.wire_log import WireLog

MAX_CONNECTIONS = 200
"""Older connections are forgotten first."""
MAX_EVENTS = 20_000
"""The most events kept per connection and direction; the oldest are forgotten first."""
MAX_AUDIO_BYTES = 120 * 1000 * BYTES_PER_MS
"""Two minutes of appended audio per connection; what comes later is not kept."""
CONNECTIONS_WITH_AUDIO = 8
"""Only the newest connections keep their audio."""
APPENDS = ("input_audio_buffer.append", "session.input_audio.append")
AUDIO_FIELDS = dict.fromkeys(APPENDS, "audio") | dict.fromkeys(
    ("response.output_audio.delta", "session.output_audio.delta"), "delta"
)


class ConnectionRecord(WireLog):
    """One connection's two logs. Times are seconds since it was opened."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.opened_at = time.time()
        self.closed: str | None = None
        self.audio: bytearray | None = bytearray()
        self.conversation: Conversation | None = None
        self._started = time.monotonic()
        self._received: deque[bytes] = deque(maxlen=MAX_EVENTS)
        self._sent: deque[bytes] = deque(maxlen=MAX_EVENTS)

    def opened(self, conversation: Conversation) -> None:
        """Note that the connection stands; its items will be in `conversation`."""
        self.conversation = conversation

    def over(self, why: str) -> None:
        """Note that the connection has ended."""
        self.closed = why

    def received(self, event: Any) -> None:
        """Keep a client event."""
        entry = self._entry(event)
        if entry["type"] in APPENDS:
            self._keep_audio(event)
        self._received.append(msgspec.json.encode(entry))

    def sent(self, event: dict[str, Any]) -> None:
        """Keep a server event."""
        self._sent.append(msgspec.json.encode(self._entry(event)))

    def shown(self, *, with_audio: bool = False) -> dict[str, Any]:
        """Return the record as JSON data."""
        shown = {
            "connection": self.number,
            "opened_at": self.opened_at,
            "closed": self.closed,
            "received": [msgspec.json.decode(entry) for entry in self._received],
            "sent": [msgspec.json.decode(entry) for entry in self._sent],
            "items": [item.booked() for item in self.conversation or ()],
        }
        if with_audio and self.audio is not None:
            shown["audio"] = base64.b64encode(self.audio).decode()
        return shown

    def _entry(self, event: Any) -> dict[str, Any]:
        kind = event.get("type") if isinstance(event, dict) else None
        entry: dict[str, Any] = {"type": kind, "at": round(time.monotonic() - self._started, 4)}
        field = AUDIO_FIELDS.get(kind) if isinstance(kind, str) else None
        if isinstance(event, dict):
            entry["event"] = kept = event.copy()
            kept.pop(field, None)
        if field and isinstance(event.get(field), str):
            encoded = event[field]
            entry["audio_bytes"] = len(encoded) * 3 // 4 - encoded[-2:].count("=")
        return entry

    def _keep_audio(self, event: dict[str, Any]) -> None:
        if self.audio is not None and len(self.audio) < MAX_AUDIO_BYTES:
            try:
                self.audio += base64.b64decode(event.get("audio", ""))
            except (ValueError, TypeError):
                return  # the core complains of it; here it is only a record


class Records:
    """Every connection since the start, newest last."""

    def __init__(self) -> None:
        self._kept: deque[ConnectionRecord] = deque(maxlen=MAX_CONNECTIONS)
        self._count = 0

    def open(self) -> ConnectionRecord:
        """Return a new connection's record."""
        self._count += 1
        record = ConnectionRecord(self._count)
        self._kept.append(record)
        if len(self._kept) > CONNECTIONS_WITH_AUDIO:
            self._kept[-CONNECTIONS_WITH_AUDIO - 1].audio = None
        return record

    def clear(self) -> None:
        """Forget what is logged; numbers go on, so that ids stay unique."""
        self._kept.clear()

    def shown(self, *, with_audio: bool = False) -> dict[str, Any]:
        """Return all records as JSON data."""
        return {"connections": [record.shown(with_audio=with_audio) for record in self._kept]}
