"""Counts the tokens of one call's replies, for the budgets, the metrics and the page."""

from collections.abc import Callable
from dataclasses import asdict

from backend.call.dependencies import Spend
from backend.observability.call_metrics import CallMetrics
from backend.page_events import UsageCounted
from backend.responders.failover import ResponderInfo
from backend.turns.events import ReplyFinished

MICRO = 1_000_000
CACHED = ("cached_text_in", "cached_audio_in", "cached_image_in")


class CallUsage:
    """The usage of one call so far."""

    def __init__(
        self,
        session_id: str,
        about: Callable[[], ResponderInfo],
        spend: Spend,
        metrics: CallMetrics,
        publish: Callable[[UsageCounted], None],
    ) -> None:
        self._session_id = session_id
        self._about = about
        self._spend = spend
        self._metrics = metrics
        self._publish = publish
        self._tokens = 0
        self._micro_usd: int | None = None

    def on_reply(self, reply: ReplyFinished) -> None:
        """Count a reply that is over."""
        tokens = asdict(reply.usage)
        about = self._about()
        cost = self._spend(self._session_id, about.model, tokens)
        sent_ms, received_ms = reply.audio_sent_ms, reply.audio_received_ms
        self._metrics.reply_counted(about.responder, about.model, tokens, sent_ms, received_ms, cost)
        self._tokens += reply.input_tokens + reply.output_tokens
        if cost is not None:
            self._micro_usd = (self._micro_usd or 0) + cost
        self._publish(
            UsageCounted(
                about.responder,
                about.model,
                reply.input_tokens,
                sum(tokens[kind] for kind in CACHED),
                reply.output_tokens,
                sent_ms,
                received_ms,
                _usd(cost),
                self._tokens,
                _usd(self._micro_usd),
            )
        )


def _usd(micro: int | None) -> float | None:
    return None if micro is None else micro / MICRO
