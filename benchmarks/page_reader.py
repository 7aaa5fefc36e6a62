"""A page's event stream, read for a benchmark: its beginning, the moments of final words, and the server's figures.

A browser reads these events; the benchmark does not measure a hundred browsers. So the answer to `GET /api/events/…` is
taken off the socket as it comes. Events with a figure are stored, and read as JSON after the run.
"""

from __future__ import annotations

import asyncio
import re
import time
from urllib.parse import quote, urlsplit

import msgspec

from responder_thinker.signalling import Ticket

MOST_UNFINISHED = 1 << 20
"""Bytes of an unfinished event: none of our events is longer."""
STARTED = b"event: session_started"
FIGURES = b"event: turn_metrics"
DISCARDED = b"event: reply_discarded"
SHOWN = re.compile(rb'event: transcript_delta\ndata: \{(?![^\n]*"delta":"")[^\n]*"role":"user"')
TRANSCRIBED = re.compile(rb'event: transcript\ndata: \{[^\n]*"role":"user"')
DATA = re.compile(FIGURES + rb"\ndata: (.*)\n")


class PageReader(asyncio.Protocol):
    """One stream. It ends with the call; a broken one is not opened again."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self._unfinished = b""
        self._figures: list[bytes] = []
        self._transcribed: list[float] = []
        self._shown: list[float] = []
        self.discarded = 0
        """Replies that were prepared and discarded."""
        self._transport: asyncio.Transport | None = None

    def __repr__(self) -> str:
        return f"PageReader({len(self._figures)} turns)"

    async def open(self, base_url: str, ticket: Ticket, within_s: float) -> None:
        """Request a call's stream, and wait for its first event. Raises `TimeoutError`, `OSError`."""
        self.started.clear()
        self._unfinished = b""
        address = urlsplit(base_url)
        host, port = address.hostname or "", address.port or 80
        async with asyncio.timeout(within_s):
            transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, host, port)
            self._transport = transport
            transport.write(
                f"GET /api/events/{quote(ticket.session_id)} HTTP/1.1\r\nHost: {host}:{port}\r\n"
                f"Authorization: Bearer {ticket.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
            await self.started.wait()

    def close(self) -> None:
        """Close the stream."""
        if self._transport is not None:
            self._transport.abort()

    def turn_metrics(self) -> list[dict[str, float]]:
        """The received `turn_metrics`, in milliseconds."""
        events = (msgspec.json.decode(found) for piece in self._figures for found in DATA.findall(piece))
        return [{name: value for name, value in event.items() if name.endswith("_ms")} for event in events]

    def transcribed(self) -> list[float]:
        """Return when the caller's words were final, on the steady clock, once for each utterance."""
        return self._transcribed

    def shown(self) -> list[float]:
        """Return when further words of the caller came, on the steady clock."""
        return self._shown

    def data_received(self, data: bytes) -> None:
        """Take a piece of the stream: usually whole events."""
        piece = self._unfinished + data
        if not piece.endswith((b"\n\n", b"\n\r\n")) and len(piece) < MOST_UNFINISHED:
            self._unfinished = piece
            return
        self._unfinished = b""
        self.discarded += piece.count(DISCARDED)
        self._shown += [time.monotonic()] * len(SHOWN.findall(piece))
        self._transcribed += [time.monotonic()] * len(TRANSCRIBED.findall(piece))
        if FIGURES in piece:
            self._figures.append(piece)
        if not self.started.is_set() and STARTED in piece:
            self.started.set()
