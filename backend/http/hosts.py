"""The names by which the server may be addressed: a page of another name cannot reach it (DNS rebinding).

A page of `evil.example` may have its own name resolve to this machine; its browser then takes us for that page's own
server. The `Host` header tells: it is refused unless it is a name of loopback, the very address at which the connection
arrived, or what the operator has configured. METRICS_PORT is a listener of its own, which the operator keeps inside: it
answers to every name that monitoring gives it, and serves the metrics only.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.http.errors import Refusal, error_response, explain_refusal
from backend.settings.settings import Settings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
HINT = "Use the server's own address. The operator can allow this one in ALLOWED_HOSTS."
METRICS_HINT = "This port serves /metrics only; everything else is on the server's main port."
MISDIRECTED = 421
"""RFC 9110, 15.5.20: the server does not answer for that name."""


class AllowedHosts:
    """Middleware: refuses what is addressed to any other name (421), and at METRICS_PORT all but the metrics (404)."""

    def __init__(self, app: ASGIApp, names: Iterable[str], metrics_port: int = 0) -> None:
        self._app = app
        self._metrics_port = metrics_port
        self._names = frozenset(names) | LOOPBACK_NAMES
        self._endings = tuple(name[1:] for name in self._names if name.startswith("*."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        if on_port(scope, self._metrics_port):
            serves = scope["type"] == "http" and scope["path"] == "/metrics"
            return None if serves else error_response(404, "Not Found.", METRICS_HINT)
        if self._allows(scope):
            return None
        explain_refusal(HTTPConnection(scope), Refusal("it is addressed to another host"))
        return error_response(MISDIRECTED, "This server does not answer to this host name.", HINT)

    def _allows(self, scope: Scope) -> bool:
        if "*" in self._names:
            return True
        own, _ = scope.get("server") or ("", None)
        named = Headers(scope=scope).getlist("host")
        host = host_name(named[0]) if len(named) == 1 else ""
        return bool(host) and (host in self._names or host == own or host.endswith(self._endings))


def host_name(host: str) -> str:
    """Return the name or address in a `Host` header, without its port; empty if it is not valid."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def allowed_hosts(settings: Settings) -> set[str]:
    """Return the names that the operator has configured."""
    origins = {urlsplit(origin).hostname or "" for origin in settings.access.allowed_origins}
    return {*settings.server.allowed_hosts, *settings.mcp.hosts, settings.rtc.rtc_force_host or "", *origins} - {""}


def on_port(scope: Scope, port: int) -> bool:
    """Return whether the connection came in on the listener for metrics."""
    return bool(port) and (scope.get("server") or ("", None))[1] == port
