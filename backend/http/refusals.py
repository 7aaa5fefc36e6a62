"""Middleware that writes every refused request to the security log, whichever middleware or route refused it.

The handlers of errors leave their reason in the request's state; a refusal that has none is known by its status.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.access.addresses import address_key
from backend.access.credentials import Identity
from backend.observability.request_metrics import route_template
from backend.observability.security_log import Requester, SecurityEvent, security_event

REFUSED = frozenset({401, 403, 421, 429})
"""Statuses that are refusals whatever their reason; a 404 or 503 is one where its error says so."""


@dataclass(slots=True)
class Refusal:
    """Why a request was refused, for the log."""

    reason: str
    kind: SecurityEvent = SecurityEvent.REQUEST_REFUSED


@dataclass(frozen=True, slots=True)
class Unidentified:
    """A caller known only by their address, refused before they were asked who they are."""

    address: str
    user: str = ""
    credential: str = "none"


class RefusalLog:
    """Middleware, outermost: notices refusals by the status of the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        accepted = False

        async def watched(message: Message) -> None:
            nonlocal accepted
            match message["type"]:
                case "http.response.start" | "websocket.http.response.start":
                    _note(scope, message["status"])
                case "websocket.accept":
                    accepted = True
                case "websocket.close":
                    _note(scope, message.get("code", 1000) if accepted else HTTPStatus.FORBIDDEN)
            await send(message)

        await self._app(scope, receive, watched)


def explain_refusal(connection: HTTPConnection, refusal: Refusal) -> None:
    """Leave for the log why this request is about to be refused."""
    connection.scope.setdefault("state", {})["refusal"] = refusal


def _note(scope: Scope, status: int) -> None:
    refusal = scope.get("state", {}).get("refusal")
    if status in REFUSED:
        refusal = refusal or Refusal(HTTPStatus(status).phrase)
    if refusal is not None:
        security_event(refusal.kind, _who(scope), refusal.reason, status=int(status), route=_route(scope))


def _route(scope: Scope) -> str:
    """Return the route, or, of a request that was refused before it got there, the beginning of its path."""
    template = route_template(scope)
    shown = scope.get("state", {}).get("prefix", template) if template == "other" else template
    return f"{scope.get('method', 'WebSocket')} {shown}"


def _who(scope: Scope) -> Requester:
    identity = scope.get("state", {}).get("identity")
    return identity.principal if isinstance(identity, Identity) else Unidentified(address_key(HTTPConnection(scope)))
