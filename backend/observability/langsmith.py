"""The tracer that sends to LangSmith, through its documented ingest API.

Not through the `langsmith` package, which was measured first: importing it costs a second and a half and 25 MB, it
words every span on the thread that ends it (60 µs each, where taking notes costs 6), holds up to 10,000 of them at
14 kB, and takes more than 25 s to give up on a server that does not answer. All we need of it is one request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urlencode

import httpx2
import msgspec

from backend.errors import TracingUnavailable
from backend.observability.langsmith_runs import USER, erasure, payload, traces_query
from backend.observability.security_log import hashed
from backend.observability.trace_exporter import ExportLimits, TraceExporter
from backend.observability.trace_records import Record, RecordedSpan, Trace
from backend.observability.tracing import Kind, Tracer

TIMEOUT = httpx2.Timeout(5.0, connect=3.0)
ANSWER_WITHIN_S = 5.0
"""Seconds the whole of an answer may take."""
ANSWER_LIMIT = 65_536
"""Bytes of an answer that are read, so that the connection can be used again."""
ERASE_AFTER_S = 3.0
"""Seconds that what waits to be sent is waited for before a user's traces are deleted."""
ROUNDS_LIMIT = 50
"""Requests to delete traces that are made one after another, as long as each leaves fewer."""
PASSING = frozenset({408, 425, 429})
"""Refusals that may pass, like everything from 500."""


T = TypeVar("T")


class _Named(msgspec.Struct):
    id: str


class _Runs(msgspec.Struct):
    runs: list[_Named]


class LangSmithTracer(Tracer):
    """The tracer to a LangSmith server. Its thread runs from `exporter.start` to `close`."""

    def __init__(
        self,
        *,
        endpoint: str,
        api_key: str,
        project: str,
        content: bool = False,
        limits: ExportLimits | None = None,
        timeout: httpx2.Timeout = TIMEOUT,
    ) -> None:
        endpoint = endpoint.rstrip("/")
        self._url = f"{endpoint}/runs/batch"
        self._api = f"{endpoint.removesuffix('/api/v1')}/api/v1"
        self._erasures = f"{self._api}/runs/delete"
        self._project = project
        self._content = content
        headers = {"x-api-key": api_key, "content-type": "application/json"}
        self._http = httpx2.Client(headers=headers, timeout=timeout)
        self.exporter = TraceExporter(self._send, limits=limits, finish=self._http.close)

    def __repr__(self) -> str:
        return f"LangSmithTracer({self._url}, {self.exporter!r})"

    def session(
        self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = ""
    ) -> RecordedSpan:
        """Open the outermost span of a new trace, and send its beginning."""
        span = RecordedSpan(kind, name, Trace(session_id, self.exporter.enqueue, self._content, hashed(user)))
        span.announce()
        return span

    async def close(self) -> None:
        await self.exporter.close()

    async def export(self, user_id: str, /) -> dict[str, str]:
        """Return where the user's traces are, and under which mark; LangSmith itself shows what is in them."""
        return {"langsmith_project": self._project, USER: hashed(user_id)}

    async def erase(self, user_id: str, /) -> None:
        """Send what waits to be sent, so that `delete_traces`, which comes next, reaches it."""
        await asyncio.to_thread(self.exporter.settle, ERASE_AFTER_S)

    async def delete_traces(self, user_id: str) -> None:
        """Have LangSmith delete the user's traces, and look whether any is left. May be repeated.

        It takes some at a time: as long as there are fewer, it is asked again. What it has taken it may delete days
        later. Raises `TracingUnavailable` while a trace is left.
        """
        await asyncio.to_thread(self._delete_traces, hashed(user_id))

    async def move(self, user_id: str, to: str, /) -> None:
        """Leave the traces where they are: an erasure reaches those of the visitors that a user was, too."""

    def _send(self, records: Sequence[Record]) -> None:
        """Make one request, in the exporter's thread."""
        self._post(self._url, payload(records, self._project))

    def _delete_traces(self, user: str) -> None:
        before: list[str] = []
        for _ in range(ROUNDS_LIMIT):
            self._post(self._erasures, erasure(user))
            left = self._traces_of(user)
            if not left:
                return
            if left == before:
                break
            before = left
        raise TracingUnavailable("LangSmith has taken the deletion, and traces are left.")

    def _traces_of(self, user: str) -> list[str]:
        """Return the ids of the user's traces, the first hundred."""
        projects = self._answered(
            "GET", f"{self._api}/sessions?{urlencode({'name': self._project})}", type_=list[_Named]
        )
        if not projects:
            return []
        asked = traces_query([each.id for each in projects], user)
        found = self._answered("POST", f"{self._api}/runs/query", asked, type_=_Runs)
        return sorted(run.id for run in found.runs)

    def _answered(self, method: str, url: str, body: bytes | None = None, *, type_: type[T]) -> T:
        """Return the answer to a question as `type_`. Raises `TracingUnavailable`."""
        answer = self._post(url, body, method)
        try:
            return msgspec.json.decode(answer, type=type_)
        except msgspec.DecodeError as error:
            raise TracingUnavailable("LangSmith's answer cannot be read.") from error

    def _post(self, url: str, body: bytes | None, method: str = "POST") -> bytes:
        """Make a request, and return the beginning of its answer. Raises `TracingUnavailable`."""
        try:
            status, answer = self._exchanged(method, url, body)
        except httpx2.HTTPError as error:
            raise TracingUnavailable(f"LangSmith cannot be reached ({type(error).__name__}).") from error
        if status >= 300:
            refusal = TracingUnavailable(f"LangSmith refuses ({status}).")
            refusal.retryable = status in PASSING or status >= 500
            raise refusal
        return answer

    def _exchanged(self, method: str, url: str, body: bytes | None) -> tuple[int, bytes]:
        """Return the answer's status and body. The rest of a long or slow answer is left unread."""
        deadline = time.monotonic() + ANSWER_WITHIN_S
        read = b""
        with self._http.stream(method, url, content=body) as answer:
            for piece in answer.iter_bytes():
                read += piece
                if len(read) > ANSWER_LIMIT or time.monotonic() > deadline:
                    break
            return answer.status_code, read
