"""The messages that were really sent and received, kept for tests in bounds: `GET /debug/connections`.

Entries are kept as JSON: the garbage collector would take tens of milliseconds each time for the objects of a hundred
connections' logs.
"""

import time
from collections import deque
from typing import Any

import msgspec

from backend.realtime.conversation import Conversation
from backend.realtime.serving.wire_log import WireLog

MAX_CONNECTIONS = 200
"""The most connections kept; the oldest are forgotten first."""
MAX_EVENTS = 20_000
"""The most events kept per connection and direction; the oldest are forgotten first."""
AUDIO_FIELDS = {
    "input_audio_buffer.append": "audio",
    "session.input_audio.append": "audio",
    "response.output_audio.delta": "delta",
    "session.output_audio.delta": "delta",
}
"""The field of each event that holds audio, of which only the length is kept."""


class ConnectionLog(WireLog):
    """One connection's two logs. Times are seconds since it was opened."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.opened_at = time.time()
        self.closed: str | None = None
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
        self._received.append(msgspec.json.encode(self._entry(event)))

    def sent(self, event: dict[str, Any]) -> None:
        """Keep a server event."""
        self._sent.append(msgspec.json.encode(self._entry(event)))

    def shown(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        return {
            "connection": self.number,
            "opened_at": self.opened_at,
            "closed": self.closed,
            "received": [msgspec.json.decode(entry) for entry in self._received],
            "sent": [msgspec.json.decode(entry) for entry in self._sent],
            "items": [item.booked() for item in self.conversation or ()],
        }

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


class ConnectionLogs:
    """Every connection since the start, newest last."""

    def __init__(self) -> None:
        self._kept: deque[ConnectionLog] = deque(maxlen=MAX_CONNECTIONS)
        self._count = 0

    def open(self) -> ConnectionLog:
        """Return a new connection's record."""
        self._count += 1
        record = ConnectionLog(self._count)
        self._kept.append(record)
        return record

    def clear(self) -> None:
        """Forget what is logged; numbers go on, so that ids stay unique."""
        self._kept.clear()

    def shown(self) -> dict[str, Any]:
        """Return all records as JSON data."""
        return {"connections": [record.shown() for record in self._kept]}
