"""A collector that is slow, broken or gone: calls do not notice, memory stays bounded, the end comes soon."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from itertools import chain
from statistics import median
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from backend.errors import SettingsError
from backend.observability.call_metrics import CallMetrics
from backend.observability.genai_attributes import INPUT, OUTPUT
from backend.observability.otlp import header_pairs
from backend.observability.span_delivery import DeliveryLimits, SpanDelivery
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import load_settings
from backend.testing.services.server import Reply, serving
from tests.observability.world import (
    QUICK,
    CollectorTracer,
    DeliveringTracer,
    LangSmithTracer,
    answered,
    begin_turn,
    hang_up,
    route,
    speak_reply,
    traced_call,
)
from tests.support.langsmith_api import KEY, langsmith
from tests.support.otlp import collector
from tests.support.waiting import until

NOWHERE = "http://127.0.0.1:9"
TURNS = 12
PATIENT = DeliveryLimits(every_s=0.02, request_s=4.0)


async def turn_times(tracer: Tracer) -> list[float]:
    """Milliseconds from the question to the end of the reply, a Thinker's answer in between, for several turns."""
    times = []
    async with traced_call(tracer, *[["Because."]] * TURNS) as placed:
        for number in range(TURNS):
            began = time.perf_counter()
            await begin_turn(placed)
            await route(placed, "knowledge", f"Why is number {number} odd?", f"c{number}")
            await answered(placed, number + 1)
            await speak_reply(placed)
            times.append((time.perf_counter() - began) * 1000)
        await hang_up(placed)
    return times


@pytest.mark.alone
@pytest.mark.parametrize("mood", ["well", "hangs", 500, 401, "gone", "slow"])
@pytest.mark.parametrize("to", [LangSmithTracer, CollectorTracer])
async def test_a_turn_takes_as_long_as_without_tracing(
    mood: str | int, to: type[LangSmithTracer | CollectorTracer]
) -> None:
    serving_it = langsmith if to is LangSmithTracer else collector
    async with serving_it("well" if mood == "slow" else mood, 0.2 if mood == "slow" else 0.0) as server:
        tracer = to(NOWHERE if mood == "gone" else server.url)
        without = await turn_times(NO_TRACER)
        with_tracing = await turn_times(tracer)
        began = time.perf_counter()
        await tracer.close()
        closed_in = time.perf_counter() - began
    # Waiting for a Thinker goes by steps of 20 ms; sending on the way would cost the 200 or 300 ms of a slow server.
    assert median(with_tracing) < median(without) + 25
    assert closed_in < QUICK.close_within_s + 0.5
    assert tracer.delivery.lost + len(server.spans) >= 3 * TURNS
    assert (tracer.delivery.lost == 0) is (mood in ("well", "slow"))


class Kept(SpanExporter):
    """Keeps what arrives; fails at the batches whose numbers are in `fails`, or raises there."""

    def __init__(self, *fails: int, error: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self.fails = fails
        self.error = error
        self.tries = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.may_go_on.wait(5)
        self.tries += 1
        if self.tries in self.fails:
            if self.error:
                raise self.error
            return SpanExportResult.FAILURE
        self.batches.append([span.name for span in spans])
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.may_go_on.set()


def delivering(exporter: Kept, **limits: Any) -> DeliveringTracer:
    """A tracer to the exporter."""
    return DeliveringTracer(SpanDelivery("the test", exporter, DeliveryLimits(**limits)))


async def test_a_full_queue_drops_the_oldest_and_counts() -> None:
    kept = Kept()
    tracer = delivering(kept, queue=10, batch=10, every_s=60)
    kept.may_go_on.clear()
    for number in range(35):
        tracer.session("s", "turn", str(number)).end()
        if number == 9:  # the first batch is being sent from here on
            await until(lambda: tracer.delivery.depth == 10 and tracer.delivery.dropped == 0 and sending(tracer) == 10)
    assert (tracer.delivery.depth, tracer.delivery.dropped) == (20, 15)
    kept.may_go_on.set()
    await tracer.close()
    assert list(chain(*kept.batches)) == [str(number) for number in (*range(10), *range(25, 35))]
    assert (tracer.delivery.delivered, tracer.delivery.lost, tracer.delivery.depth) == (20, 15, 0)


def sending(tracer: DeliveringTracer) -> int:
    return tracer.delivery._counted.sending


def test_what_was_lost_is_counted_in_the_metrics() -> None:
    metrics = CallMetrics()
    metrics.watch_total("voice_traces_dropped", "Spans given up.", lambda: 15)
    assert metrics.registry.get_sample_value("voice_traces_dropped_total") == 15


async def test_spans_arrive_in_batches_and_in_order() -> None:
    kept = Kept()
    tracer = delivering(kept, batch=4, every_s=60)
    for number in range(10):
        tracer.session("s", "turn", str(number)).end()
    await tracer.close()
    assert max(map(len, kept.batches)) <= 4
    assert list(chain(*kept.batches)) == [str(number) for number in range(10)]


async def test_one_line_says_that_deliveries_fail_and_one_that_they_are_back(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(1, 2)
    tracer = delivering(kept, batch=1, every_s=0.01)
    for number in range(3):
        tracer.session("s", "turn", str(number)).end()
    await until(lambda: tracer.delivery.delivered == 1)
    await tracer.close()
    assert tracer.delivery.lost == 2
    assert [entry.levelname for entry in caplog.records] == ["WARNING", "WARNING"]


async def test_a_fault_of_ours_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(1, error=ValueError("somebody's words"))
    tracer = delivering(kept, batch=1, every_s=0.01)
    for number in range(2):
        tracer.session("s", "turn", str(number)).end()
    await until(lambda: tracer.delivery.delivered == 1)
    await tracer.close()
    assert "ValueError" in caplog.text and "words" not in caplog.text


@pytest.mark.parametrize(("status", "again"), [(429, True), (503, True), (401, False), (422, False)])
async def test_only_what_may_pass_is_sent_again(status: int, again: bool) -> None:
    async with collector(status) as server:
        tracer = CollectorTracer(server.url, limits=PATIENT)
        tracer.session("s1").end()
        await until(lambda: server.asked > again)
        server.mood = "well"
        await until(lambda: tracer.delivery.depth == 0)
        await tracer.close()
    assert (tracer.delivery.lost, len(server.spans)) == ((0, 1) if again else (1, 0))


async def test_closing_while_the_collector_hangs_is_bounded_and_counts_what_is_left() -> None:
    async with collector("hangs") as server:
        tracer = CollectorTracer(server.url, limits=DeliveryLimits(every_s=0.01, close_within_s=0.1))
        tracer.session("s1").end()
        await until(lambda: server.asked == 1)
        tracer.session("s2").end()
        began = time.perf_counter()
        await tracer.close()
        assert time.perf_counter() - began < 5
        assert (tracer.delivery.lost, tracer.delivery.depth) == (2, 0)


# --- secrets and words --------------------------------------------------------------------------------


async def call_with(tracer: Tracer) -> None:
    """A call of one turn."""
    async with traced_call(tracer, ["Mild, my private answer."]) as placed:
        await begin_turn(placed)
        await route(placed, "knowledge", "my private query")
        await answered(placed)
        await speak_reply(placed, "my private reply")
        await hang_up(placed)


async def test_keys_are_sent_as_documented_headers_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        tracer.session("s1").end()
        await tracer.close()
    refused = LangSmithTracer(NOWHERE), CollectorTracer(NOWHERE)
    for each in refused:
        each.session("s1").end()
        await each.close()
    assert server.keys == {KEY}
    assert caplog.text.count("Traces cannot be delivered") == 2
    told = caplog.text + repr(tracer) + repr(tracer.delivery) + repr(refused) + repr(refused[1].delivery)
    assert KEY not in told and "a b" not in told and "a%20b" not in told


async def test_the_collectors_headers_never_reach_langsmith(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-honeycomb-team=the-collectors,x-api-key=other")
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        tracer.session("s1").end()
        await tracer.close()
    assert tracer.delivery.lost == 0 and server.keys == {KEY}
    assert "the-collectors" not in repr(server.requests)


async def test_nothing_of_what_was_said_leaves_the_server_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backend.observability")
    async with collector() as server:
        tracer = CollectorTracer(server.url)
        await call_with(tracer)
        await tracer.close()
    assert "private" not in server.text + caplog.text
    turn, thinker = server.span("turn 1"), server.span("invoke_agent knowledge")
    assert turn.attributes["voice.input.chars"] == len("my very private question about Seattle")
    assert thinker.attributes["voice.input.chars"] == len("my private query")
    [model] = server.children(thinker)
    assert model.attributes["voice.input.messages"] == 2 and INPUT not in model.attributes


async def test_what_was_said_is_sent_when_the_operator_says_so() -> None:
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url, content=True)
        await call_with(tracer)
        await tracer.close()
    turn = server.span("turn 1")
    assert "my very private question about Seattle" in turn.attributes[INPUT]
    assert "my private reply" in turn.attributes[OUTPUT]
    [model] = server.children(server.span("invoke_agent knowledge"))
    assert model.attributes[INPUT].count('"role"') == 2 and "Mild, my private answer." in model.attributes[OUTPUT]
    assert model.attributes["gen_ai.prompt"] == model.attributes[INPUT], "which is where LangSmith looks"


async def test_long_words_are_cut() -> None:
    async with collector() as server:
        tracer = CollectorTracer(server.url, content=True)
        span = tracer.session("s1")
        span.asked([{"role": "user", "content": "y" * 20_000}] * 10)
        span.said("x" * 1_000_000)
        span.end()
        await tracer.close()
    assert server.span("session").attributes["voice.output.chars"] == 1_000_000
    assert len(server.text) < 60_000


async def test_an_endless_answer_does_not_hold_the_delivery_for_long() -> None:
    async with serving(lambda _: Reply(200, parts=[b"x" * 65_536, 0.02] * 500)) as api:
        tracer = CollectorTracer(api.url, limits=DeliveryLimits(every_s=0.01, close_within_s=0.5))
        tracer.session("s1").end()
        await until(lambda: bool(api.requests))
        began = time.perf_counter()
        await tracer.close()
    assert time.perf_counter() - began < 5


# --- settings -----------------------------------------------------------------------------------------


def test_tracing_without_a_key_is_refused_with_advice() -> None:
    with pytest.raises(SettingsError, match="LANGSMITH_TRACING_ENABLED needs LANGSMITH_API_KEY"):
        load_settings(_env_file=None, langsmith_tracing_enabled=True)


def test_headers_are_read_as_the_specification_writes_them() -> None:
    settings = load_settings(_env_file=None, otel_exporter_otlp_headers="A=b%20c, d=e=f,")
    assert settings.tracing.otel_exporter_otlp_headers is not None
    assert header_pairs(settings.tracing.otel_exporter_otlp_headers.get_secret_value()) == {"a": "b c", "d": "e=f"}
    with pytest.raises(SettingsError, match=r"OTEL_EXPORTER_OTLP_HEADERS.*name=value") as refused:
        load_settings(_env_file=None, otel_exporter_otlp_headers="very-secret")
    assert "very-secret" not in str(refused.value)
