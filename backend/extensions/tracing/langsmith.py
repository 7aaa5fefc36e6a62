"""Traces in LangSmith: their delivery, and the deletion of a user's traces, both by the official package.

LangSmith calls a span a *run*.
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
from opentelemetry.util.re import parse_env_headers
from opentelemetry.util.types import AttributeValue
from requests import RequestException
from urllib3 import Retry

from backend.errors import PeerError
from backend.extensions.tracing.delivery import REQUEST_S, delivery_to, in_a_thread
from backend.extensions.tracing.settings import TracingSettings
from backend.extensions.tracing.spans import ARGUMENTS, CONVERSATION, INPUT, KIND, OUTPUT, RESULT, USER
from backend.observability.security_log import hashed

FLUSH_WITHIN_S = 3.0
"""Seconds in which waiting spans are sent before a user's traces are deleted."""
ALWAYS = "2020-01-01T00:00:00Z"
"""A time before any trace of this server."""
USER_HASH = "user_hash"
"""The key of the metadata by which a user's runs are found."""
RUN_TYPES: dict[AttributeValue, str] = {"model": "llm", "tool": "tool", "thinker": "tool"}
"""LangSmith's names of our kinds of spans; every other kind is a chain."""
RUN_NAMES: dict[AttributeValue, str]
RUN_NAMES = {"session": "voice_session", "turn": "conversation_turn", "thinker": "thinker_call"}
"""The names of runs by kind; every other run has the name of its span."""
METADATA = "langsmith.metadata."

T = TypeVar("T")


class LangSmithTraces:
    """The traces of one project. `delivery` sends new spans; the methods export and delete stored ones."""

    def __init__(self, settings: TracingSettings) -> None:
        key = settings.langsmith_api_key
        api_key = key.get_secret_value() if key else ""
        endpoint = settings.langsmith_endpoint.rstrip("/")
        # The exporter would also send LangSmith the collector's headers, unless they are overridden by empty ones.
        of_collector = parse_env_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""), liberal=True)
        exporter = OtelExporter(
            f"{endpoint}/otel/v1/traces",
            api_key=api_key,
            project=settings.langsmith_project,
            headers=dict.fromkeys(of_collector.keys() - {"x-api-key"}, ""),
            timeout=REQUEST_S,
        )
        self.delivery = delivery_to(exporter)
        self._project = settings.langsmith_project
        self._client = Client(
            f"{endpoint.removesuffix('/api/v1')}/api/v1",
            api_key=api_key,
            timeout_ms=round(REQUEST_S * 1000),
            retry_config=Retry(0),  # the whole deletion is repeated instead
            auto_batch_tracing=False,
            info={},
            disable_prompt_cache=True,
        )

    def __repr__(self) -> str:
        return f"LangSmithTraces({self._project})"

    async def export(self, user_id: str, /) -> dict[str, str]:
        """Return the project and the hash of the user's traces; LangSmith itself shows their contents."""
        return {"langsmith_project": self._project, USER_HASH: hashed(user_id)}

    async def erase(self, user_id: str, /) -> None:
        """Send the waiting spans, so that the following `delete_traces` reaches them."""
        await in_a_thread(self.delivery.force_flush, FLUSH_WITHIN_S)

    async def delete_traces(self, user_id: str) -> None:
        """Ask LangSmith to delete the user's traces. It accepts some at a time, and may delete them days later.

        Raises `PeerError` while a trace is left, so that the deletion is repeated.
        """
        await asyncio.to_thread(self._delete_traces, hashed(user_id))

    def _delete_traces(self, user: str) -> None:
        self._answer("POST", "/runs/delete", deletion(user))
        if self._has_traces_of(user):
            raise PeerError("LangSmith has accepted the deletion, but traces are left.")

    def _has_traces_of(self, user: str) -> bool:
        projects = _decoded(self._answer("GET", f"/sessions?{urlencode({'name': self._project})}"), list[_Named])
        if not projects:
            return False
        query = traces_query([each.id for each in projects], user)
        return bool(_decoded(self._answer("POST", "/runs/query", query), _Runs).runs)

    def _answer(self, method: Literal["GET", "POST"], path: str, body: bytes | None = None) -> bytes:
        """Return the body of an answer. Raises `PeerError`, which contains nothing of the request."""
        try:
            answer: bytes = self._client.request_with_retries(method, path, data=body).content
        except (LangSmithError, RequestException) as error:
            raise PeerError(f"LangSmith refuses or cannot be reached ({type(error).__name__}).") from error
        return answer


class _Named(msgspec.Struct):
    id: str


class _Runs(msgspec.Struct):
    runs: list[_Named]


def _decoded(answer: bytes, type_: type[T]) -> T:
    """Return an answer as `type_`. Raises `PeerError`."""
    try:
        return msgspec.json.decode(answer, type=type_)
    except msgspec.DecodeError as error:
        raise PeerError("LangSmith's answer cannot be read.") from error


def deletion(user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/delete` that deletes every trace of the user with this hash.

    https://docs.langchain.com/langsmith/smith-api/run/delete-runs deletes traces by metadata, from a time on.
    """
    return msgspec.json.encode({"metadata": {USER_HASH: user}, "start_time": ALWAYS})


def traces_query(projects: Sequence[str], user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/query` that finds an outermost run of the user with this hash.

    A condition on metadata names a key and its value (https://docs.langchain.com/langsmith/trace-query-syntax).
    """
    of_user = f'and(eq(metadata_key, "{USER_HASH}"), eq(metadata_value, "{user}"))'
    return msgspec.json.encode({"session": projects, "is_root": True, "filter": of_user, "select": ["id"], "limit": 1})


def run_attributes(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """Return the attributes that only LangSmith reads: the kind of a span, its words, and metadata for filters.

    See https://docs.langchain.com/langsmith/trace-with-opentelemetry.
    """
    more: dict[str, AttributeValue] = {
        "langsmith.span.kind": RUN_TYPES.get(attributes[KIND], "chain"),
        f"{METADATA}session_id": attributes[CONVERSATION],  # the runs of one session are shown as a thread
    }
    if name := RUN_NAMES.get(attributes[KIND]):
        more["langsmith.trace.name"] = name
    for name, value in attributes.items():
        if name.startswith("voice."):
            more[METADATA + name.removeprefix("voice.")] = value
    if USER in attributes:
        more[METADATA + USER_HASH] = attributes[USER]
    asked = attributes.get(INPUT) or attributes.get(ARGUMENTS)
    said = attributes.get(OUTPUT) or attributes.get(RESULT)
    return more | ({"gen_ai.prompt": asked} if asked else {}) | ({"gen_ai.completion": said} if said else {})
