"""Traces at LangSmith: their delivery, and the deletion of a user's traces, both by the official package.

The package takes half a second to import, so `app/tracing.py` imports this file, in a thread, only where LangSmith is
switched on. Traces go through its exporter of OpenTelemetry spans; LangSmith calls a span a *run*.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar
from urllib.parse import urlencode

import msgspec
from langsmith import Client
from langsmith.integrations.otel.processor import OtelExporter
from langsmith.utils import LangSmithError
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.util.types import AttributeValue
from requests import RequestException
from urllib3 import Retry

from backend.errors import TracingUnavailable
from backend.observability.genai_attributes import CONVERSATION, INPUT, KIND, OUTPUT, USER
from backend.observability.otlp import header_pairs
from backend.observability.security_log import hashed
from backend.observability.span_delivery import DeliveryLimits, SpanDelivery

REQUEST_S = 5.0
"""Seconds one request about deletions may take."""
ERASE_AFTER_S = 3.0
"""Seconds given to waiting traces before a user's traces are deleted."""
ROUNDS_LIMIT = 50
"""The most requests in a row to delete traces, as long as each leaves fewer."""
QUERY_LIMIT = 100
"""Runs that a query returns at most."""
ALWAYS = "2020-01-01T00:00:00Z"
"""A time before the first trace of this server."""
USER_HASH = "user_hash"
"""The metadata by which a user's runs are found."""
RUN_TYPES: dict[AttributeValue, str] = {"model": "llm", "tool": "tool"}
"""LangSmith's names; everything else is a chain."""
METADATA = "langsmith.metadata."

T = TypeVar("T")


class LangSmithTraces:
    """The traces of one project. `delivery` takes new spans; the other methods are about stored ones."""

    def __init__(self, *, endpoint: str, api_key: str, project: str, limits: DeliveryLimits | None = None) -> None:
        limits = limits or DeliveryLimits()
        endpoint = endpoint.rstrip("/")
        exporter = OtelExporter(
            f"{endpoint}/otel/v1/traces",
            api_key=api_key,
            project=project,
            headers=_blanked(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")),
            timeout=limits.request_s,
        )
        self.delivery = SpanDelivery("LangSmith", LangSmithExporter(exporter), limits)
        self._project = project
        self._client = Client(
            f"{endpoint.removesuffix('/api/v1')}/api/v1",
            api_key=api_key,
            timeout_ms=round(REQUEST_S * 1000),
            retry_config=Retry(0),  # the deletion as a whole is repeated
            auto_batch_tracing=False,
            info={},
            disable_prompt_cache=True,
        )

    def __repr__(self) -> str:
        return f"LangSmithTraces({self._project}, {self.delivery!r})"

    async def export(self, user_id: str, /) -> dict[str, str]:
        """Return the place and the mark of the user's traces; LangSmith itself shows their contents."""
        return {"langsmith_project": self._project, USER_HASH: hashed(user_id)}

    async def erase(self, user_id: str, /) -> None:
        """Send the waiting traces, so that the following `delete_traces` reaches them."""
        await asyncio.to_thread(self.delivery.settle, ERASE_AFTER_S)

    async def delete_traces(self, user_id: str) -> None:
        """Have LangSmith delete the user's traces, and look whether any is left. May be repeated. LangSmith takes some
        at a time, so it is asked again while the number falls. It may delete accepted ones days later. Raises
        `TracingUnavailable` while a trace is left.
        """
        await asyncio.to_thread(self._delete_traces, hashed(user_id))

    def _delete_traces(self, user: str) -> None:
        before: list[str] = []
        for _ in range(ROUNDS_LIMIT):
            self._answer("POST", "/runs/delete", deletion(user))
            left = self._traces_of(user)
            if not left:
                return
            if left == before:
                break
            before = left
        raise TracingUnavailable("LangSmith has taken the deletion, and traces are left.")

    def _traces_of(self, user: str) -> list[str]:
        """Return the ids of the user's traces, the first hundred."""
        projects = _decoded(self._answer("GET", f"/sessions?{urlencode({'name': self._project})}"), list[_Named])
        if not projects:
            return []
        found = _decoded(self._answer("POST", "/runs/query", traces_query([each.id for each in projects], user)), _Runs)
        return sorted(run.id for run in found.runs)

    def _answer(self, method: Literal["GET", "POST"], path: str, body: bytes | None = None) -> bytes:
        """Return the body of an answer. Raises `TracingUnavailable`, without a word of the request."""
        try:
            answer: bytes = self._client.request_with_retries(method, path, data=body).content
        except (LangSmithError, RequestException) as error:
            raise TracingUnavailable(f"LangSmith refuses or cannot be reached ({type(error).__name__}).") from error
        return answer


class LangSmithExporter(SpanExporter):
    """Adds LangSmith's own attributes to each span, and passes it on.

    See https://docs.langchain.com/langsmith/trace-with-opentelemetry.
    """

    def __init__(self, to: SpanExporter) -> None:
        self._to = to

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._to.export([_as_run(span) for span in spans])

    def shutdown(self) -> None:
        self._to.shutdown()


class _Named(msgspec.Struct):
    id: str


class _Runs(msgspec.Struct):
    runs: list[_Named]


def _decoded(answer: bytes, type_: type[T]) -> T:
    """Return an answer as `type_`. Raises `TracingUnavailable`."""
    try:
        return msgspec.json.decode(answer, type=type_)
    except msgspec.DecodeError as error:
        raise TracingUnavailable("LangSmith's answer cannot be read.") from error


def _blanked(headers: str) -> dict[str, str]:
    """Return the collector's headers without their values: the exporter would send them to LangSmith, too."""
    return dict.fromkeys(set(header_pairs(headers)) - {"x-api-key"}, "")


def deletion(user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/delete` that deletes every trace of the user with this hash.

    See https://docs.langchain.com/langsmith/smith-api/run/delete-runs: traces that match the metadata, from a time on.
    """
    return msgspec.json.encode({"metadata": {USER_HASH: user}, "start_time": ALWAYS})


def traces_query(projects: Sequence[str], user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/query` that finds the outermost runs of the user with this hash.

    See https://docs.langchain.com/langsmith/trace-query-syntax: a condition on metadata is one on a key and its value.
    """
    of_user = f'and(eq(metadata_key, "{USER_HASH}"), eq(metadata_value, "{user}"))'
    return msgspec.json.encode(
        {"session": projects, "is_root": True, "filter": of_user, "select": ["id"], "limit": QUERY_LIMIT}
    )


def run_attributes(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """Return what LangSmith reads of a span beside the conventions: its kind, its words, and metadata to filter by."""
    more: dict[str, AttributeValue] = {
        "langsmith.span.kind": RUN_TYPES.get(attributes[KIND], "chain"),
        f"{METADATA}session_id": attributes[CONVERSATION],  # the runs of one session are shown as a thread
    }
    for name, value in attributes.items():
        if name.startswith("voice."):
            more[METADATA + name.removeprefix("voice.")] = value
    if USER in attributes:
        more[METADATA + USER_HASH] = attributes[USER]
    asked = attributes.get(INPUT) or attributes.get("gen_ai.tool.call.arguments")
    said = attributes.get(OUTPUT) or attributes.get("gen_ai.tool.call.result")
    return more | ({"gen_ai.prompt": asked} if asked else {}) | ({"gen_ai.completion": said} if said else {})


def _as_run(span: ReadableSpan) -> ReadableSpan:
    attributes = span.attributes or {}
    return ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        {**attributes, **run_attributes(attributes)},
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
