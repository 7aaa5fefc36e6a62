"""The delivery of spans by OpenTelemetry's queue and thread, one for each destination.

A full queue loses its oldest span. The exporter repeats a failed request for some seconds; then its spans are lost, and
the log says so.
"""

import asyncio
import threading
from collections.abc import Callable

from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

QUEUE = 1_000
"""The most waiting spans: about 2 MB, or about 10 MB if the words are traced."""
BATCH = 50
"""The most spans in one request: few, so that encoding them does not hold the interpreter's lock for long."""
EVERY_S = 1.0
REQUEST_S = 5.0
"""Seconds that one request may take, with its repetitions."""


def delivery_to(exporter: SpanExporter) -> BatchSpanProcessor:
    """Return a queue of spans that a thread sends through `exporter`."""
    return BatchSpanProcessor(
        exporter, max_queue_size=QUEUE, schedule_delay_millis=EVERY_S * 1000, max_export_batch_size=BATCH
    )


async def in_a_thread(work: Callable[[], object], within_s: float) -> None:
    """Run `work` in a thread that ends with the process, and wait for it for `within_s` seconds at most."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, within_s)
