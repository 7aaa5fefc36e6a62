"""The tracer that sends to LangSmith, through its documented ingest API.

Not through the `langsmith` package, which was measured first: importing it costs a second and a half and 25 MB, it
words every span on the thread that ends it (60 µs each, where taking notes costs 6), holds up to 10,000 of them at
14 kB, and takes more than 25 s to give up on a server that does not answer. All we need of it is one request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import httpx2

from backend.errors import TracingUnavailable
from backend.observability.langsmith_runs import USER, erasure, payload
from backend.observability.security_log import hashed
from backend.observability.trace_exporter import ExportLimits, TraceExporter
from backend.observability.trace_records import Record, RecordedSpan, Trace
from backend.observability.tracing import Kind, Tracer

TIMEOUT = httpx2.Timeout(5.0, connect=3.0)
ANSWER_WITHIN_S = 5.0
"""Seconds the whole of an answer may take; nothing in it is used."""
ANSWER_LIMIT = 65_536
"""Bytes of an answer that are read, so that the connection can be used again."""
ERASE_AFTER_S = 3.0
"""Seconds that what waits to be sent is waited for before a user's traces are deleted."""
PASSING = frozenset({408, 425, 429})
"""Refusals that may pass, like everything from 500."""


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
        self._erasures = f"{endpoint.removesuffix('/api/v1')}/api/v1/runs/delete"
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
        """Have LangSmith delete the user's traces, after what waits to be sent of them. It does so within a week or so.

        Raises `TracingUnavailable` when it does not take the request.
        """
        await asyncio.to_thread(self.exporter.settle, ERASE_AFTER_S)
        await asyncio.to_thread(self._post, self._erasures, erasure(hashed(user_id)))

    async def move(self, user_id: str, to: str, /) -> None:
        """Leave the traces where they are: an erasure reaches those of the visitors that a user was, too."""

    def _send(self, records: Sequence[Record]) -> None:
        """Make one request, in the exporter's thread."""
        self._post(self._url, payload(records, self._project))

    def _post(self, url: str, body: bytes) -> None:
        try:
            status = self._posted(url, body)
        except httpx2.HTTPError as error:
            raise TracingUnavailable(f"LangSmith cannot be reached ({type(error).__name__}).") from error
        if status >= 300:
            refusal = TracingUnavailable(f"LangSmith refuses ({status}).")
            refusal.retryable = status in PASSING or status >= 500
            raise refusal

    def _posted(self, url: str, body: bytes) -> int:
        """Return the answer's status. A long or slow answer is left unread."""
        deadline = time.monotonic() + ANSWER_WITHIN_S
        read = 0
        with self._http.stream("POST", url, content=body) as answer:
            for piece in answer.iter_raw():
                read += len(piece)
                if read > ANSWER_LIMIT or time.monotonic() > deadline:
                    break
            return answer.status_code
