"""What the page is told, read by a program: a session's events, in order, across broken connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from backend.app.client.signalling import Ticket

RECONNECT_AFTER_S = 0.5
SILENT_FOR_S = 40.0
"""Seconds without even a heartbeat after which the connection is taken for dead."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """One event of a session: its number, what it is, and its data."""

    id: int
    type: str
    data: dict[str, Any]


async def page_events(http: httpx2.AsyncClient, ticket: Ticket) -> AsyncGenerator[ReceivedEvent, None]:
    """The session's events from the first. Ends when the session has ended, or is no longer known."""
    last = 0
    while True:
        try:
            async with aclosing(_connection(http, ticket, last)) as events:
                async for event in events:
                    last = event.id
                    yield event
                    if event.type == "session_ended":
                        return
        except httpx2.TransportError:
            pass  # broken: what was missed is asked for again
        except _Over:
            return
        await asyncio.sleep(RECONNECT_AFTER_S)


class _Over(Exception):
    """The server has nothing more to tell."""


async def _connection(http: httpx2.AsyncClient, ticket: Ticket, after: int) -> AsyncGenerator[ReceivedEvent, None]:
    headers = {"Authorization": f"Bearer {ticket.token}", "Last-Event-ID": str(after)}
    timeout = httpx2.Timeout(10, read=SILENT_FOR_S)
    async with http.sse(f"/api/events/{quote(ticket.session_id)}", headers=headers, timeout=timeout) as source:
        if source.response.status_code != httpx2.codes.OK:
            raise _Over
        async for event in source:
            if event.data:
                yield ReceivedEvent(int(event.id), event.event, json.loads(event.data))
