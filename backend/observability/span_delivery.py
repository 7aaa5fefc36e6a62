"""The delivery of spans to an exporter: a bounded queue, and one thread that empties it in batches.

It is OpenTelemetry's batch processor, with what an operator asks of it: how many spans wait, arrived and were lost, one
line in the log when the far end fails and one when it is back, and an end within a moment. The exporter repeats a
failed request for some seconds itself; the batch is then given up. A full queue loses its oldest span.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.05
"""Seconds between two looks at the waiting spans."""


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """The limits of a delivery; times in seconds."""

    queue: int = 1_000
    """The most waiting spans: about two megabytes, or some ten with all words."""
    batch: int = 50
    """Spans in one request: few, so that encoding them never holds the interpreter for long."""
    every_s: float = 1.0
    request_s: float = 5.0
    """One request, with its repetitions."""
    close_within_s: float = 2.0


class SpanDelivery(BatchSpanProcessor):
    """Delivers spans to the exporter `to`, which `name` names in the log, until `close`."""

    def __init__(self, name: str, to: SpanExporter, limits: DeliveryLimits | None = None) -> None:
        self._name = name
        self._limits = limits or DeliveryLimits()
        self._counted = _CountedExporter(name, to)
        super().__init__(
            self._counted,
            max_queue_size=self._limits.queue,
            schedule_delay_millis=self._limits.every_s * 1000,
            max_export_batch_size=self._limits.batch,
        )
        self.dropped = 0
        """Spans given up because the queue was full."""

    def __repr__(self) -> str:
        return f"SpanDelivery({self._name}, {self.depth} waiting, {self.delivered} delivered, {self.lost} lost)"

    @property
    def depth(self) -> int:
        """The number of spans waiting, with those being sent."""
        return len(self._batch_processor._queue) + self._counted.sending

    @property
    def delivered(self) -> int:
        """The number of spans that arrived."""
        return self._counted.delivered

    @property
    def lost(self) -> int:
        """The number of spans given up."""
        return self.dropped + self._counted.failed

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span. Called from one thread only; returns immediately."""
        if len(self._batch_processor._queue) >= self._limits.queue:
            self.dropped += 1
        super().on_end(span)

    def settle(self, within_s: float) -> None:
        """Wait until everything was delivered, for `within_s` seconds at most. Call it in a thread."""
        until = time.monotonic() + within_s
        while self.depth and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """Deliver the waiting spans within `close_within_s`; the rest is given up and counted."""
        await asyncio.to_thread(self._batch_processor.shutdown, round(self._limits.close_within_s * 1000))
        if left := self.depth:
            self._counted.give_up(left)
            self._batch_processor._queue.clear()
            log.warning("%d spans of the trace were not delivered to %s before the end.", left, self._name)


class _CountedExporter(SpanExporter):
    """Counts spans that arrive and spans that do not; called in the delivery's thread."""

    def __init__(self, name: str, to: SpanExporter) -> None:
        self._name = name
        self._to = to
        self._failing = False
        self._over = False
        self.sending = 0
        self.delivered = 0
        self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; a fault of ours is a failure, too, and its text stays out of the log: it may hold words."""
        self.sending = len(spans)
        try:
            result, why = self._to.export(spans), "it refuses them or cannot be reached"
        except Exception as error:  # noqa: BLE001 - the thread outlives a fault of ours
            result, why = SpanExportResult.FAILURE, f"a fault of ours, {type(error).__name__}"
        if self._over:
            return result
        self.sending = 0
        if result is SpanExportResult.SUCCESS:
            self.delivered += len(spans)
            if self._failing:
                log.warning("Traces are delivered to %s again; %d spans were lost.", self._name, self.failed)
        else:
            self.failed += len(spans)
            if not self._failing:
                log.warning("Traces cannot be delivered to %s, calls go on without: %s.", self._name, why)
        self._failing = result is not SpanExportResult.SUCCESS
        return result

    def give_up(self, number: int) -> None:
        """Count the spans that are left at the end; a batch still under way is not counted."""
        self._over = True
        self.sending = 0
        self.failed += number

    def shutdown(self) -> None:
        self._to.shutdown()
