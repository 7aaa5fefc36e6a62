"""A collector of OpenTelemetry's on loopback: decodes the official protobuf, and keeps the spans.

async with collector() as server:
    ... server.url, server.span("turn 1"), server.children(span)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from backend.testing.services.server import Reply, Request, json_reply, serving


@dataclass(frozen=True)
class ReceivedSpan:
    """A received span; times in Unix nanoseconds."""

    name: str
    id: str
    parent: str
    trace: str
    began: int
    ended: int
    client: bool
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]

    def lasts_within(self, outer: ReceivedSpan) -> bool:
        """Whether its time lies in the other's."""
        return outer.began <= self.began <= self.ended <= outer.ended


@dataclass
class Collector:
    """The server. `mood` is its way to answer: "well", a status, or "hangs"."""

    mood: str | int = "well"
    delay_s: float = 0.0
    path: str = "/v1/traces"
    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """Requests so far, answered or not."""
        return len(self.requests)

    async def answer(self, request: Request) -> Reply:
        """One request."""
        self.requests.append(request)
        if self.mood == "hangs":
            await asyncio.sleep(60)
        if isinstance(self.mood, int):
            return json_reply({"detail": "no"}, self.mood)
        if (request.method, request.path) != ("POST", self.path):
            return json_reply({"detail": "not here"}, 404)
        self.spans += decoded(request)
        return Reply(200, "application/x-protobuf", delay_s=self.delay_s)

    def span(self, name: str) -> ReceivedSpan:
        """The one span of this name."""
        [span] = self.named(name)
        return span

    def named(self, name: str) -> list[ReceivedSpan]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]

    def has(self, name: str) -> bool:
        """Whether a span of this name is here."""
        return bool(self.named(name))

    def children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        """The spans directly within another, in the order of their beginnings."""
        return sorted((span for span in self.spans if span.parent == parent.id), key=lambda span: span.began)

    @property
    def text(self) -> str:
        """All received bytes, to be searched for forbidden text."""
        return repr(self.spans)


AnyCollector = TypeVar("AnyCollector", bound=Collector)


def decoded(request: Request) -> list[ReceivedSpan]:
    """The spans of a request."""
    assert request.headers["content-type"] == "application/x-protobuf"
    message = ExportTraceServiceRequest.FromString(request.body)
    return [
        _received(span, _attributes(each.resource.attributes))
        for each in message.resource_spans
        for scope in each.scope_spans
        for span in scope.spans
    ]


def _received(span: Span, resource: dict[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.kind == Span.SPAN_KIND_CLIENT,
        span.status.code == Status.STATUS_CODE_ERROR,
        _attributes(span.attributes),
        resource,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    found: list[KeyValue] = list(pairs)
    return {pair.key: _value(pair.value) for pair in found}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind is not None
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@asynccontextmanager
async def collector(mood: str | int = "well", delay_s: float = 0.0) -> AsyncIterator[Collector]:
    """A collector on a free port."""
    async with running(Collector(mood, delay_s)) as server:
        yield server


@asynccontextmanager
async def running(server: AnyCollector) -> AsyncIterator[AnyCollector]:
    """Run a collector, of whatever kind, on a free port."""
    async with serving(server.answer) as api:
        server.url = api.url
        yield server
