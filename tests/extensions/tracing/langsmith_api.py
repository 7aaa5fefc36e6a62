"""LangSmith on loopback: takes spans at its OpenTelemetry endpoint, and deletes and finds traces by their metadata.

async with langsmith() as server:
    ... server.url, server.span("turn 1"), server.children(span)
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from backend.testing.services.server import Reply, Request, json_reply
from tests.extensions.tracing.collector import Collector, ReceivedSpan, running

KEY = "ls-very-secret"
METADATA = "langsmith.metadata."
KINDS = {"tool", "chain", "llm"}


@dataclass
class LangSmith(Collector):
    """The server."""

    path: str = "/otel/v1/traces"
    project: str = ""
    """The project of the last spans."""
    deletes_at_once: bool = True

    @property
    def keys(self) -> set[str]:
        """The keys of the requests."""
        return {request.headers.get("x-api-key", "") for request in self.requests}

    async def answer(self, request: Request) -> Reply:
        """One request."""
        if isinstance(self.mood, str) and request.headers.get("x-api-key") == KEY:
            match request.method, request.path:
                case "POST", "/api/v1/runs/delete":
                    return self._delete(request.json())
                case "GET", "/api/v1/sessions":
                    return json_reply([{"id": "project-1", "name": "of the tests"}])
                case "POST", "/api/v1/runs/query":
                    return self._query(request.json())
        before = len(self.spans)
        reply = await super().answer(request)
        for span in self.spans[before:]:
            self.project = request.headers["langsmith-project"]
            assert span.attributes["langsmith.span.kind"] in KINDS and meta(span)["session_id"]
        return reply

    def _query(self, body: dict[str, Any]) -> Reply:
        """The outermost runs of the project with the requested metadata, a hundred at most."""
        assert body["session"] == ["project-1"] and body["is_root"] and body["limit"] <= 100
        matched = re.fullmatch(r'and\(eq\(metadata_key, "(\w+)"\), eq\(metadata_value, "(\w+)"\)\)', body["filter"])
        assert matched
        wanted = {matched[1]: matched[2]}
        found = [span for span in self.spans if not span.parent and meta(span).items() & wanted.items()]
        return json_reply({"runs": [{"id": str(UUID(int=int(span.id, 16)))} for span in found[: body["limit"]]]})

    def _delete(self, body: dict[str, Any]) -> Reply:
        """Delete traces by the metadata of a run, from `start_time` on; the real API takes until the weekend."""
        if not self.deletes_at_once:
            return json_reply({}, 202)
        assert set(body) == {"metadata", "start_time"}
        since = datetime.fromisoformat(body["start_time"]).timestamp() * 1e9
        gone = {
            span.trace for span in self.spans if meta(span).items() & body["metadata"].items() and span.began >= since
        }
        self.spans = [span for span in self.spans if span.trace not in gone]
        return json_reply({})


def meta(span: ReceivedSpan) -> dict[str, Any]:
    """A run's metadata."""
    return {name.removeprefix(METADATA): value for name, value in span.attributes.items() if name.startswith(METADATA)}


@asynccontextmanager
async def langsmith(mood: str | int = "well", delay_s: float = 0.0) -> AsyncIterator[LangSmith]:
    """A server on a free port."""
    async with running(LangSmith(mood, delay_s)) as server:
        yield server
