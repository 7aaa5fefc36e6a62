"""The metrics of all processes behind one port, as one page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


def merged(pages: Iterable[tuple[str, str]]) -> str:
    """Return the metrics of all processes behind one port as one page, each sample with the name of its process.

    `pages` are pairs of a process and its page in Prometheus's text format. The kernel chooses the process that a
    scrape reaches; without this, each scrape would show another process.
    """
    registry = CollectorRegistry()
    registry.register(_MetricsOfProcesses(list(pages)))
    return generate_latest(registry).decode()


@dataclass(eq=False)
class _MetricsOfProcesses(Collector):
    """Collects the pages of several processes: each family once, with the samples of all."""

    pages: list[tuple[str, str]]

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for process, page in self.pages:
            for family in text_string_to_metric_families(page):
                whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                whole.samples += [one._replace(labels=one.labels | {"process": process}) for one in family.samples]
        yield from families.values()
