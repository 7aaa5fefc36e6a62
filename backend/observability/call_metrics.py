"""The metrics of calls, for Prometheus and, of the newest ones, for the operator's page.

One `CallMetrics` belongs to the process and has a registry of its own, so that two servers in one test do not
share figures. Every label has a closed set of values (anything else is counted as `other`): a caller or a
model can never grow the table. Nothing here waits, and nothing here holds a caller's words.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from backend.conversation.page_events import TurnMeasured
from backend.runtime.faults import listener_failures, skipped_records
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import restarts

OTHER = "other"
KEPT = 500
"""Turns, and answers of each Thinker, that medians are taken over."""
END_REASONS = frozenset(
    {
        "disconnected",
        "network_lost",
        "never_connected",
        "idle",
        "deleted",
        "shutdown",
        "max_minutes",
        "responder_gone",
        "error",
        "operator",
    }
)
LEGS = ("hangover", "commit", "reply_started", "first_audio", "played", "total")
"""The legs of a turn that are counted: fields of `TurnMeasured`, there with `_ms` behind."""
VAD_DECISIONS = frozenset({"speech_started", "speech_paused", "speech_resumed", "speech_stopped"})
THINKER_OUTCOMES = frozenset({"complete", "failed", "stale", "cancelled"})

TURN_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10)
THINKER_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)


class CallMetrics:
    """The counters of calls. `domains` are the Thinkers that exist, the only ones counted by name."""

    def __init__(self, domains: Iterable[str] = (), registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.recent = RecentMetrics()
        self._domains = frozenset(domains)
        self._define(self.registry)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.registry.register(_Faults())

    def __repr__(self) -> str:
        return f"CallMetrics({len(self._domains)} domains)"

    def watch_sessions(self, live: Callable[[], int]) -> None:
        """Read the number of live sessions from `live` at every scrape."""
        self._live.set_function(live)

    def session_ended(self, reason: str) -> None:
        """Count the end of a session, with its reason."""
        self._ended.labels(_known(reason, END_REASONS)).inc()

    def turn_measured(self, turn: TurnMeasured) -> None:
        """Count the legs of one turn."""
        legs = {leg: getattr(turn, f"{leg}_ms") for leg in LEGS}
        for leg, value in legs.items():
            self._legs.labels(leg).observe(value / 1000)
        self.recent.turn(legs)

    def vad_decided(self, decision: str) -> None:
        """Count a decision of the segmenter: speech started, paused, resumed or stopped."""
        self._vad.labels(_known(decision, VAD_DECISIONS)).inc()

    def thinker_finished(self, domain: str, outcome: str, seconds: float) -> None:
        """Count the end of a Thinker's work as complete, failed, stale or cancelled after `seconds`."""
        labels = _known(domain, self._domains), _known(outcome, THINKER_OUTCOMES)
        self._thinkers.labels(*labels).observe(seconds)
        self.recent.thinker(*labels, seconds)

    def watch_queue(self, queue: str, depth: Callable[[], float]) -> None:
        """Read the depth of `queue` (a fixed name; all sessions together) from `depth` at every scrape."""
        self._queues.labels(queue).set_function(depth)

    def watch_losses(self, lost: Callable[[], int]) -> None:
        """Read how many memory writes were given up since the start (a full outbox, a failed memory) from `lost`."""
        self.registry.register(_Losses("voice_outbox_dropped", "Memory writes given up.", lost))

    def watch_trace_losses(self, lost: Callable[[], int]) -> None:
        """Read how many spans of traces were given up since the start from `lost`."""
        self.registry.register(_Losses("voice_traces_dropped", "Spans of traces given up.", lost))

    def _define(self, registry: CollectorRegistry) -> None:
        self._live = Gauge("voice_sessions_live", "Sessions that have not ended.", registry=registry)
        self._ended = Counter("voice_sessions_ended", "Sessions ended, by reason.", ["reason"], registry=registry)
        self._legs = Histogram(
            "voice_turn_leg_seconds",
            "Each leg of a turn, from the end of speech to the reply being heard.",
            ["leg"],
            buckets=TURN_BUCKETS_S,
            registry=registry,
        )
        self._vad = Counter("voice_vad_decisions", "What the segmenter decided.", ["decision"], registry=registry)
        self._thinkers = Histogram(
            "voice_thinker_seconds",
            "How long Thinkers worked, by domain and outcome.",
            ["domain", "outcome"],
            buckets=THINKER_BUCKETS_S,
            registry=registry,
        )
        self._queues = Gauge("voice_queue_depth", "Items waiting in a bounded queue.", ["queue"], registry=registry)


class _Faults(Collector):
    """The faults this process has survived, read at every scrape."""

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield _counted("voice_loop_restarts", "Loops that failed and were started again.", "loop", restarts)
        yield _counted("voice_skipped_records", "Records that could not be decoded.", "kind", skipped_records)
        yield _counted("voice_listener_failures", "Listeners that raised.", "listener", listener_failures)


def _counted(name: str, meaning: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, meaning, labels=[label])
    for value, count in dict(counts).items():
        family.add_metric([value], count)
    return family


class _Losses(Collector):
    """Reads a counter that is kept elsewhere at every scrape."""

    def __init__(self, name: str, meaning: str, lost: Callable[[], int]) -> None:
        self._name = name
        self._meaning = meaning
        self._lost = lost

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._meaning, value=self._lost())


def _known(value: str, known: frozenset[str]) -> str:
    return value if value in known else OTHER


class RecentMetrics:
    """The newest turns and Thinkers of all calls, for medians: Prometheus's buckets are too coarse for a glance."""

    def __init__(self) -> None:
        self._turns: deque[dict[str, float]] = deque(maxlen=KEPT)
        self._seconds: dict[str, deque[float]] = {}
        self._outcomes: dict[str, Tally[str]] = {}

    def __repr__(self) -> str:
        return f"RecentMetrics({len(self._turns)} turns, {len(self._seconds)} Thinkers)"

    def turn(self, legs: Mapping[str, float]) -> None:
        """Keep the legs of a turn by name, in milliseconds."""
        self._turns.append(dict(legs))

    def thinker(self, domain: str, outcome: str, seconds: float) -> None:
        """Keep the end of a Thinker's work. `domain` and `outcome` are of closed sets: the table does not grow."""
        self._outcomes.setdefault(domain, Tally())[outcome] += 1
        self._seconds.setdefault(domain, deque(maxlen=KEPT)).append(seconds)

    def turns(self) -> Json:
        """Return `{count, legs: {name: {p50_ms, p95_ms}}}` of the newest turns."""
        names = dict.fromkeys(name for legs in self._turns for name in legs)
        return {
            "count": len(self._turns),
            "legs": {name: middle(legs[name] for legs in self._turns if name in legs) for name in names},
        }

    def thinkers(self) -> list[Json]:
        """Return `{domain, outcomes, p50_ms, p95_ms}` of each Thinker that has worked; outcomes since the start."""
        return [
            {"domain": domain, "outcomes": dict(self._outcomes[domain])} | middle(1000 * each for each in seconds)
            for domain, seconds in sorted(self._seconds.items())
        ]


def middle(values: Iterable[float]) -> dict[str, int]:
    """Return median and 95th percentile by nearest rank. Raises `ValueError` for no values."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there is no middle of nothing")
    return {f"p{share}_ms": round(ordered[math.ceil(share / 100 * len(ordered)) - 1]) for share in (50, 95)}
