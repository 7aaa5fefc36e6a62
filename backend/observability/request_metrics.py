"""The metrics of requests measure the time until each route began to answer; and every request gets an id.

A request keeps the `X-Request-ID` of a proxy, or gets a new one, which stands in the response and in log lines.
"""

import re
import secrets
import time

from prometheus_client import CollectorRegistry, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.observability.call_metrics import OTHER
from backend.observability.logs import log_ids

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})
REQUEST_ID = "x-request-id"


class RequestMetrics:
    """This middleware measures each HTTP response until its first byte, since streams last as long as calls."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._seconds = Histogram(
            "voice_http_seconds",
            "Seconds until the answer began, by route.",
            ["method", "route", "status"],
            buckets=BUCKETS_S,
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = Headers(scope=scope).get(REQUEST_ID, "")
        id_ = given if re.fullmatch(r"[\w.-]{8,64}", given, re.ASCII) else secrets.token_hex(8)

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID] = id_
                self._observe(scope, message["status"], time.perf_counter() - began)
            await send(message)

        with log_ids(request=id_):
            await self._app(scope, receive, observed)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else OTHER
        self._seconds.labels(method, route_template(scope), str(status)).observe(seconds)


def route_template(scope: Scope) -> str:
    """Return the path in the route's declared form (`/api/sessions/{session_id}`), never the requested path."""
    template = getattr(scope.get("route"), "path", None)
    return template if isinstance(template, str) else OTHER
