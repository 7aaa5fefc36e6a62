"""The metrics of calls, for Prometheus, and the newest of them for the operator's page.

Each process has one `CallMetrics` with its own registry, so that two servers in one test share no figures. Unknown
names from models and providers count as `other`, so that neither can grow the table. Nothing here waits or holds a
caller's words.
"""

import math
from collections import Counter as Tally
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from backend.observability.security_log import security_events
from backend.page_events import AnswerMeasured, MurmurHeard, ReplyDiscarded, ReplyFailed, TurnMeasured
from backend.runtime.faults import observer_failures, skipped_records
from backend.runtime.supervisor import restarts

OTHER = "other"
KEPT = 500
"""The number of newest turns, and of each Thinker's newest answers, for medians."""
LEGS = ("hangover", "commit", "reply_started", "first_audio", "end_of_turn", "played", "first_sound")
"""The legs of a turn that are counted; they are fields of `TurnMeasured`, with the suffix `_ms`."""
REPLY_FAILURES = frozenset({"failed", "incomplete", "refused", "overdue", "stalled", "cancelled", "completed"})

TURN_BUCKETS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10)
THINKER_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)


class CallMetrics:
    """The counters of calls. `domains` are the existing Thinkers, which alone are counted by name."""

    def __init__(self, domains: Iterable[str] = ()) -> None:
        self.registry = registry = CollectorRegistry()
        self.recent = RecentMetrics()
        self._domains = frozenset(domains)
        self._live = Gauge("voice_sessions_live", "Sessions that have not ended.", registry=registry)
        self._ended = Counter("voice_sessions_ended", "Sessions ended, by reason.", ["reason"], registry=registry)
        self._legs = Histogram(
            "voice_turn_leg_seconds",
            "Each leg of a turn, from the end of speech to the reply being heard.",
            ["leg"],
            buckets=TURN_BUCKETS_S,
            registry=registry,
        )
        self._waits = Counter(
            "voice_turn_waits", "Turns, by the reason for the silence waited out.", ["reason"], registry=registry
        )
        self._discarded = Counter(
            "voice_replies_discarded", "Replies prepared in a pause and thrown away.", registry=registry
        )
        self._discarded_tokens = Counter(
            "voice_replies_discarded_tokens", "What those replies cost.", ["direction"], registry=registry
        )
        self._failed = Counter(
            "voice_replies_failed",
            "Replies that did not come whole, and what was done about it.",
            ["status", "remedy"],
            registry=registry,
        )
        of_model = ["provider", "model"]
        self._tokens = Counter(
            "voice_responder_tokens",
            "Tokens by kind; cached ones are among those taken in.",
            [*of_model, "kind"],
            registry=registry,
        )
        self._audio = Counter(
            "voice_responder_audio_seconds",
            "Audio sent to the provider and received.",
            [*of_model, "direction"],
            registry=registry,
        )
        self._usd = Counter("voice_responder_usd", "What replies cost by the price table.", of_model, registry=registry)
        self._murmurs = Counter("voice_murmurs", "Sounds through which a reply went on.", ["kind"], registry=registry)
        self._thinkers = Histogram(
            "voice_thinker_seconds",
            "How long Thinkers worked, by domain and outcome.",
            ["domain", "outcome"],
            buckets=THINKER_BUCKETS_S,
            registry=registry,
        )
        self._queues = Gauge("voice_queue_depth", "Items waiting in a bounded queue.", ["queue"], registry=registry)
        ProcessCollector(registry=registry)
        for name, meaning, label, counts in (
            ("voice_loop_restarts", "Loops that failed and were started again.", "loop", restarts),
            ("voice_skipped_records", "Records that could not be decoded.", "kind", skipped_records),
            ("voice_observer_failures", "Observers that raised.", "observer", observer_failures),
            ("voice_security_events", "Events of the security log.", "event", security_events),
        ):
            registry.register(_CountedElsewhere(name, meaning, counts.copy, label))

    def __repr__(self) -> str:
        return f"CallMetrics({len(self._domains)} domains)"

    def watch_sessions(self, live: Callable[[], int]) -> None:
        """Read the number of live sessions from `live` at every scrape."""
        self._live.set_function(live)

    def session_ended(self, reason: str) -> None:
        """Count the end of a session, with its reason."""
        self._ended.labels(reason).inc()

    def on_event(self, event: TurnMeasured | AnswerMeasured | ReplyDiscarded | ReplyFailed | MurmurHeard) -> None:
        """Count an event of a call."""
        match event:
            case TurnMeasured():
                self.turn_measured(event)
            case AnswerMeasured(_, answer_ms):
                self._leg_measured("answer", answer_ms)
            case ReplyDiscarded(_, tokens_in, tokens_out):
                self._discarded.inc()
                self._discarded_tokens.labels("input").inc(tokens_in)
                self._discarded_tokens.labels("output").inc(tokens_out)
            case ReplyFailed(_, _, status, _, _, remedy):
                self._failed.labels(_known(status, REPLY_FAILURES), remedy).inc()
            case MurmurHeard(kind):
                self._murmurs.labels(kind).inc()

    def reply_counted(
        self,
        provider: str,
        model: str,
        tokens: Mapping[str, int],
        sent_ms: int,
        received_ms: int,
        micro_usd: int | None,
    ) -> None:
        """Count the usage of a reply: tokens by kind, audio, and its price if known."""
        for kind, count in tokens.items():
            self._tokens.labels(provider, model, kind).inc(count)
        self._audio.labels(provider, model, "sent").inc(sent_ms / 1000)
        self._audio.labels(provider, model, "received").inc(received_ms / 1000)
        self._usd.labels(provider, model).inc((micro_usd or 0) / 1_000_000)

    def turn_measured(self, turn: TurnMeasured) -> None:
        """Count the legs of one turn, and the reason for its wait."""
        for leg in LEGS:
            self._leg_measured(leg, getattr(turn, f"{leg}_ms"))
        self._waits.labels(turn.reason or "typed").inc()

    def _leg_measured(self, leg: str, ms: float) -> None:
        self._legs.labels(leg).observe(ms / 1000)
        self.recent.leg(leg, ms)

    def thinker_finished(self, domain: str, outcome: str, seconds: float) -> None:
        """Count the end of a Thinker's work: complete, failed, stale or cancelled, after `seconds`."""
        labels = _known(domain, self._domains), outcome
        self._thinkers.labels(*labels).observe(seconds)
        self.recent.thinker(*labels, seconds)

    def watch_queue(self, queue: str, depth: Callable[[], float]) -> None:
        """Read the depth of `queue` (a fixed name; all sessions together) from `depth` at every scrape."""
        self._queues.labels(queue).set_function(depth)

    def watch_value(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Read the gauge `name` from `value` at every scrape."""
        Gauge(name, meaning, registry=self.registry).set_function(value)

    def watch_total(self, name: str, meaning: str, total: Callable[[], int]) -> None:
        """Read the counter `name` from `total`, which counts from the start of the process, at every scrape."""
        self.registry.register(_CountedElsewhere(name, meaning, lambda: {"": total()}))


@dataclass(eq=False)
class _CountedElsewhere(Collector):
    """A counter that is kept elsewhere and read at every scrape: one number, or one for each value of `label`."""

    name: str
    meaning: str
    read: Callable[[], Mapping[str, int]]
    label: str = ""

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(self.name, self.meaning, labels=[self.label] if self.label else [])
        for value, count in self.read().items():
            family.add_metric([value] if self.label else [], count)
        yield family


def _known(value: str, known: Collection[str]) -> str:
    return value if value in known else OTHER


@dataclass(frozen=True, slots=True)
class Middle:
    """The median and the 95th percentile of some durations, in milliseconds."""

    p50_ms: int
    p95_ms: int


@dataclass(frozen=True, slots=True)
class RecentTurns:
    """The number of the newest turns, with the median and 95th percentile of each leg."""

    count: int
    legs: dict[str, Middle]


@dataclass(frozen=True, slots=True)
class RecentThinker:
    """One Thinker's newest work, and its outcomes since the start."""

    domain: str
    outcomes: dict[str, int]
    p50_ms: int
    p95_ms: int


class RecentMetrics:
    """The newest turns and Thinkers of all calls, for medians, for which Prometheus's buckets are too coarse."""

    def __init__(self) -> None:
        self._legs: dict[str, deque[float]] = {}
        self._seconds: dict[str, deque[float]] = {}
        self._outcomes: dict[str, Tally[str]] = {}

    def __repr__(self) -> str:
        return f"RecentMetrics({len(self._legs)} legs, {len(self._seconds)} Thinkers)"

    def leg(self, name: str, ms: float) -> None:
        """Keep a leg of a turn, or the time to its answer."""
        self._legs.setdefault(name, deque(maxlen=KEPT)).append(ms)

    def thinker(self, domain: str, outcome: str, seconds: float) -> None:
        """Keep the end of a Thinker's work. `domain` and `outcome` come from closed sets: the table does not grow."""
        self._outcomes.setdefault(domain, Tally())[outcome] += 1
        self._seconds.setdefault(domain, deque(maxlen=KEPT)).append(seconds)

    def turns(self) -> RecentTurns:
        """Return the middle of each leg of the newest turns."""
        turns = len(self._legs.get("first_sound", ()))
        return RecentTurns(turns, {name: _middle(values) for name, values in self._legs.items()})

    def thinkers(self) -> list[RecentThinker]:
        """Return each Thinker that has worked, by its domain."""
        middles = {domain: _middle(1000 * each for each in seconds) for domain, seconds in self._seconds.items()}
        return [
            RecentThinker(domain, dict(self._outcomes[domain]), middle.p50_ms, middle.p95_ms)
            for domain, middle in sorted(middles.items())
        ]


def _middle(values: Iterable[float]) -> Middle:
    """Return the median as the page computes it, and the 95th percentile by nearest rank, of one value at least."""
    ordered = sorted(values)
    return Middle(math.floor(median(ordered) + 0.5), round(ordered[math.ceil(0.95 * len(ordered)) - 1]))
