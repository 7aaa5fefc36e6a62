"""A server's HTTP API for programs: asking for a call, reading a session's events, and being the same caller again.

A call is asked for by an offer (WebRTC) or a session (WebSocket). A session's events are read in order across broken
connections. A conversation belongs to its beginner, so the server's signed cookie is saved between commands, in
`$XDG_STATE_HOME/responder-thinker/callers.json` by the server's address, for its owner's eyes only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from backend.errors import TransportLost, VoiceError

log = logging.getLogger(__name__)

TIMEOUT_S = 15.0
"""Seconds for any one request; answering an offer through a slow STUN server takes up to ten."""
RECONNECT_AFTER_S = 0.5
SILENT_FOR_S = 40.0
"""Seconds without even a heartbeat after which the connection counts as dead."""
COOKIES = ("__Host-caller", "caller")
"""The cookie's names: over TLS, and without it."""


class CallRefused(VoiceError):
    """The server refused a request; the message and hint are its own."""

    @classmethod
    def of(cls, response: httpx2.Response) -> CallRefused:
        """Return the refusal, in the server's words where it has some."""
        try:
            error = response.json()["error"]
            return cls(str(error["message"]), hint=str(error.get("hint") or ""))
        except (ValueError, KeyError, TypeError):
            return cls(f"The server answered {response.status_code}.", hint="Is this the voice server's address?")


@dataclass(frozen=True, slots=True)
class Ticket:
    """A session of ours, and the token that proves it."""

    session_id: str
    token: str
    conversation_id: str = ""
    """The conversation that the call belongs to; a later call or chat may continue it."""


class Signalling:
    """One server; `http` carries its base URL and our cookie."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def config(self) -> dict[str, Any]:
        """Return the server's public configuration: Responder, memory, ICE servers, Thinkers."""
        return await self.ask("GET", "/api/config")

    async def ice_servers(self) -> list[dict[str, Any]]:
        """Return the STUN and TURN servers that our next call may use, with credentials that expire."""
        found: list[dict[str, Any]] = (await self.ask("POST", "/api/rtc/ice-servers"))["ice_servers"]
        return found

    async def offer(self, sdp: str, conversation_id: str | None = None) -> tuple[str, Ticket]:
        """Return the server's SDP answer to ours; the call may continue a conversation.

        Raises `CallRefused`, or `TransportLost` when no server answers.
        """
        answer = await self.ask("POST", "/api/rtc/offer", {"sdp": sdp, "conversation_id": conversation_id})
        return str(answer["sdp"]), _ticket(answer)

    async def open_session(self, conversation_id: str | None = None) -> Ticket:
        """Open a session to be connected over WebSocket, which may continue a conversation."""
        return _ticket(await self.ask("POST", "/api/sessions", {"conversation_id": conversation_id}))

    async def disconnect(self, ticket: Ticket) -> None:
        """End the call."""
        await self.ask("POST", "/api/rtc/disconnect", {"session_id": ticket.session_id, "token": ticket.token})

    async def type(self, ticket: Ticket, text: str) -> None:
        """Send typed words to the call."""
        path = f"/api/sessions/{quote(ticket.session_id)}/messages"
        await self.ask("POST", path, {"text": text}, token=ticket.token)

    def socket_url(self, ticket: Ticket) -> str:
        """Return the URL of the session's WebSocket."""
        base = str(self.http.base_url).replace("http", "ws", 1).rstrip("/")
        return f"{base}/ws/{quote(ticket.session_id)}"

    def cookies(self) -> dict[str, str]:
        """Return the header by which the server recognizes its user, beyond the rights of the session's token."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies.jar)
        return {"cookie": cookies} if cookies else {}

    async def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, token: str = ""
    ) -> dict[str, Any]:
        """Send any other request, with a session's `token` if it needs one. Raises `CallRefused` or `TransportLost`."""
        headers = {"Authorization": f"Bearer {token}"} if token else None
        try:
            response = await self.http.request(method, path, json=body, headers=headers, timeout=TIMEOUT_S)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise TransportLost(
                f"No server is responding at {self.http.base_url}.",
                hint="Start it with `make run`, or check the address.",
            ) from error
        if response.is_error:
            raise CallRefused.of(response)
        answer: dict[str, Any] = response.json()
        return answer


def _ticket(answer: dict[str, Any]) -> Ticket:
    return Ticket(answer["session_id"], answer["token"], answer.get("conversation_id", ""))


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """One event of a session: its number, type and data."""

    id: int
    type: str
    data: dict[str, Any]


async def page_events(http: httpx2.AsyncClient, ticket: Ticket) -> AsyncGenerator[ReceivedEvent, None]:
    """Yield the session's events from the first. Ends when the session has ended, or is no longer known."""
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
        except _SessionGone:
            return
        await asyncio.sleep(RECONNECT_AFTER_S)


class _SessionGone(Exception):
    """The session is over or unknown."""


async def _connection(http: httpx2.AsyncClient, ticket: Ticket, after: int) -> AsyncGenerator[ReceivedEvent, None]:
    headers = {"Authorization": f"Bearer {ticket.token}", "Last-Event-ID": str(after)}
    timeout = httpx2.Timeout(10, read=SILENT_FOR_S)
    async with http.sse(f"/api/events/{quote(ticket.session_id)}", headers=headers, timeout=timeout) as source:
        if source.response.status_code == httpx2.codes.SERVICE_UNAVAILABLE:
            return  # its process does not answer just now, or a Redis between
        if source.response.status_code != httpx2.codes.OK:
            raise _SessionGone
        async for event in source:
            if event.data:
                yield ReceivedEvent(int(event.id), event.event, json.loads(event.data))


def state_file() -> Path:
    """Return the file that holds the cookies."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "responder-thinker" / "callers.json"


def restore_cookie(http: httpx2.AsyncClient) -> None:
    """Send this server the cookie it gave us last time, if it did."""
    value = _read().get(str(http.base_url))
    if isinstance(value, str):
        http.cookies.set(COOKIES[http.base_url.scheme != "https"], value)


def save_cookie(http: httpx2.AsyncClient) -> None:
    """Save the cookie this server has given us; a disk that cannot be written is logged only."""
    value = next((cookie.value for cookie in reversed(list(http.cookies.jar)) if cookie.name in COOKIES), None)
    saved = _read()
    if not value or saved.get(str(http.base_url)) == value:
        return
    file = state_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump({**saved, str(http.base_url): value}, out)
    except OSError as error:
        log.warning("the caller's cookie could not be saved: %s", error.strerror)


def _read() -> dict[str, object]:
    try:
        values = json.loads(state_file().read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
