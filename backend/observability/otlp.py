"""The delivery of spans to a collector of OpenTelemetry's, by OTLP over HTTP.

See https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
"""

from __future__ import annotations

from urllib.parse import unquote

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from backend.observability.span_delivery import DeliveryLimits, SpanDelivery


def otlp_delivery(endpoint: str, headers: str = "", limits: DeliveryLimits | None = None) -> SpanDelivery:
    """Return a delivery to the collector at `endpoint`, e.g. http://localhost:4318, with `headers` (`header_pairs`)."""
    limits = limits or DeliveryLimits()
    url = f"{endpoint.rstrip('/')}/v1/traces"
    exporter = OTLPSpanExporter(url, headers=header_pairs(headers), timeout=limits.request_s)
    return SpanDelivery("the collector", exporter, limits)


def header_pairs(text: str) -> dict[str, str]:
    """Return the headers of `name=value,name=value`; values are percent-encoded."""
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        pairs[name.strip().lower()] = unquote(value.strip())
    return pairs
