"""The metrics of all processes behind one port as one page, each sample with the name of its process.

A scrape reaches whichever process the kernel gives it to; without this, every scrape would show another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


def merged(pages: Iterable[tuple[str, str]]) -> str:
    """Return one page made of pairs of a process and its page in Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(_Pages(list(pages)))
    return generate_latest(registry).decode()


class _Pages(Collector):
    def __init__(self, pages: list[tuple[str, str]]) -> None:
        self._pages = pages

    def collect(self) -> Iterator[Metric]:
        """Yield each family once, with the samples of all processes."""
        families: dict[str, Metric] = {}
        for process, page in self._pages:
            for family in text_string_to_metric_families(page):
                whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                whole.samples += [one._replace(labels=one.labels | {"process": process}) for one in family.samples]
        yield from families.values()
