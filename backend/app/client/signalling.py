"""Asking a server for a call, over HTTP: an offer for WebRTC, a session for WebSocket, and goodbye."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from backend.errors import TransportLost, VoiceError

TIMEOUT_S = 15.0
"""Seconds for any one request; answering an offer through a slow STUN server takes up to ten."""


class CallRefused(VoiceError):
    """The server answered, and said no; the message and hint are its own."""

    @classmethod
    def of(cls, response: httpx2.Response) -> CallRefused:
        """The refusal, in the server's words where it has some."""
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
    """What is said belongs to it; a later call or chat may go on with it."""


class Signalling:
    """One server. `http` carries its base URL, and our cookie."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def config(self) -> dict[str, Any]:
        """What the server says of itself: Responder, memory, ICE servers, Thinkers."""
        return await self.ask("GET", "/api/config")

    async def offer(self, sdp: str, conversation_id: str | None = None) -> tuple[str, Ticket]:
        """The server's SDP answer to ours; the call may go on with a conversation.

        Raises `CallRefused`, or `TransportLost` when nobody is there.
        """
        answer = await self.ask("POST", "/api/rtc/offer", {"sdp": sdp, "conversation_id": conversation_id})
        return str(answer["sdp"]), _ticket(answer)

    async def open_session(self, conversation_id: str | None = None) -> Ticket:
        """A session to be connected over WebSocket, which may go on with a conversation."""
        return _ticket(await self.ask("POST", "/api/sessions", {"conversation_id": conversation_id}))

    async def disconnect(self, ticket: Ticket) -> None:
        """End the call."""
        await self.ask("POST", "/api/rtc/disconnect", {"session_id": ticket.session_id, "token": ticket.token})

    def socket_url(self, ticket: Ticket) -> str:
        """The session's WebSocket."""
        base = str(self.http.base_url).replace("http", "ws", 1).rstrip("/")
        return f"{base}/ws/{quote(ticket.session_id)}?token={quote(ticket.token)}"

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Any other request. Raises `CallRefused` or `TransportLost`."""
        try:
            response = await self.http.request(method, path, json=body, timeout=TIMEOUT_S)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise TransportLost(
                f"No server answers at {self.http.base_url}.", hint="Is it running? Start it with `make run`."
            ) from error
        if response.is_error:
            raise CallRefused.of(response)
        answer: dict[str, Any] = response.json()
        return answer


def _ticket(answer: dict[str, Any]) -> Ticket:
    return Ticket(answer["session_id"], answer["token"], answer.get("conversation_id", ""))
