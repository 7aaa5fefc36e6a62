"""The metrics of requests: the time until each route began to answer, and the outcomes of SDP offers."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.observability.call_metrics import OTHER

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})
OFFER = "/api/rtc/offer"


class RequestMetrics:
    """Middleware that observes every HTTP answer when it begins, so that a stream counts until its first byte."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._seconds = Histogram(
            "voice_http_seconds",
            "Seconds until the answer began, by route.",
            ["method", "route", "status"],
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._offers = Counter("voice_offers", "SDP offers, by status of the answer.", ["status"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._observe(scope, message["status"], time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, observed)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else OTHER
        self._seconds.labels(method, route_template(scope), str(status)).observe(seconds)
        if scope["path"] == OFFER and method == "POST":
            self._offers.labels(str(status)).inc()


def route_template(scope: Scope) -> str:
    """Return the path as the route declares it (`/api/sessions/{session_id}`), never as it was asked for."""
    template = getattr(scope.get("route"), "path", None)
    return template if isinstance(template, str) else OTHER
