"""The delivery of spans, by OpenTelemetry's own queue and thread: one for each destination.

A full queue loses its oldest span. The exporter repeats a failed request for some seconds; its spans are then lost,
which the log says.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

QUEUE = 1_000
"""The most waiting spans: about two megabytes, or some ten with all words."""
BATCH = 50
"""Spans in one request: few, so that encoding them never holds the interpreter for long."""
EVERY_S = 1.0
REQUEST_S = 5.0
"""Seconds for one request, with its repetitions."""


def delivery_to(exporter: SpanExporter) -> BatchSpanProcessor:
    """Return the queue of spans for `exporter`, and begin to empty it."""
    return BatchSpanProcessor(
        exporter, max_queue_size=QUEUE, schedule_delay_millis=EVERY_S * 1000, max_export_batch_size=BATCH
    )


async def in_a_thread(work: Callable[[], object], within_s: float) -> None:
    """Run `work` in a thread that ends with the process, and wait for it for `within_s` seconds at most."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, within_s)
