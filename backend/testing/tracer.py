"""Traces kept in a list."""

from __future__ import annotations

from backend.observability.trace_records import Record, RecordedSpan, Trace
from backend.observability.tracing import Kind, Tracer


class FakeTracer(Tracer):
    """A `Tracer` that keeps what it is given."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content
        self.records: list[Record] = []
        """Every beginning and end, in order."""
        self.closed = False

    def __repr__(self) -> str:
        return f"FakeTracer({len(self.records)} records)"

    def session(
        self, session_id: str, kind: Kind = "session", name: str = "session", *, user: str = ""
    ) -> RecordedSpan:
        """Begin the root span of a session."""
        span = RecordedSpan(kind, name, Trace(session_id, self.records.append, self._content))
        span.announce()
        return span

    async def close(self) -> None:
        """Note that the tracer was closed."""
        self.closed = True

    def ended(self, kind: str, name: str | None = None) -> list[Record]:
        """Return the spans of a kind (and name) that are over, in the order they ended."""
        return [r for r in self.records if r.ended is not None and r.kind == kind and name in (None, r.name)]

    def under(self, record: Record) -> list[Record]:
        """Return the ended spans directly within `record`, in the order they began."""
        within = [r for r in self.records if r.ended is not None and r.path[:-1] == record.path]
        return sorted(within, key=lambda r: r.path[-1].began)
