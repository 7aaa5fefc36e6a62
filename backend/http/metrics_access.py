"""The readers of `/metrics`: a holder of METRICS_TOKEN, or a reader at METRICS_PORT; else this machine alone.

The port is a listener of its own, which answers nothing else: the operator keeps it inside.
"""

from __future__ import annotations

import hmac

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.addresses import is_from_here
from backend.access.credentials import bearer
from backend.errors import NotAdmitted, NotFound
from backend.http.errors import error_response
from backend.settings.settings import Settings

PATH = "/metrics"


class MetricsPort:
    """Middleware: on METRICS_PORT, nothing but the metrics is answered."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not on_port(scope, self._port) or (scope["type"] == "http" and scope["path"] == PATH):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            hint = "This port serves /metrics only; everything else is on the server's main port."
            await error_response(404, "Not Found.", hint)(scope, receive, send)


def require_metrics_access(connection: HTTPConnection, settings: Settings) -> None:
    """Raise `NotAdmitted` without the token, `NotFound` where the metrics are not shown."""
    if settings.server.metrics_token is not None:
        shown, wanted = bearer(connection) or "", settings.server.metrics_token.get_secret_value()
        if not hmac.compare_digest(shown.encode(), wanted.encode()):
            raise NotAdmitted("The metrics require a token.", hint="Send METRICS_TOKEN as `Authorization: Bearer …`.")
    elif not on_port(connection.scope, settings.server.metrics_port) and not is_from_here(connection):
        raise NotFound("The metrics are off.", hint="Set METRICS_TOKEN, or METRICS_PORT for a separate port.")


def on_port(scope: Scope, port: int) -> bool:
    """Return whether the connection came in on the listener for metrics."""
    return bool(port) and (scope.get("server") or ("", None))[1] == port
