"""A LangSmith that is slow, broken or gone: calls do not notice, memory stays bounded, the end comes soon."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from itertools import chain
from statistics import median
from typing import Any

import pytest

from backend.errors import SettingsError, TracingUnavailable
from backend.observability.call_metrics import CallMetrics
from backend.observability.langsmith import LangSmithTracer
from backend.observability.trace_exporter import ExportLimits, TraceExporter
from backend.observability.trace_records import Record, TracedWords
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import load_settings
from demo.services.server import Reply, serving
from tests.observability.world import QUICK, answered, begin_turn, hang_up, route, speak_reply, traced_call, tracer_to
from tests.support.langsmith_api import KEY, LangSmith, langsmith
from tests.support.waiting import until

NOWHERE = "http://127.0.0.1:9"
TURNS = 12


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
async def test_a_turn_takes_as_long_as_without_tracing(mood: str | int) -> None:
    async with langsmith("well" if mood == "slow" else mood, delay_s=0.2 if mood == "slow" else 0.0) as server:
        tracer = tracer_to(NOWHERE if mood == "gone" else server.url)
        without = await turn_times(NO_TRACER)
        with_tracing = await turn_times(tracer)
        began = time.perf_counter()
        await tracer.close()
        closed_in = time.perf_counter() - began
    # Waiting for a Thinker goes by steps of 20 ms; sending on the way would cost the 200 or 300 ms of a slow server.
    assert median(with_tracing) < median(without) + 25
    assert closed_in < QUICK.close_within_s + 0.5
    assert tracer.exporter.lost + len(server.runs) >= 3 * TURNS or mood == "well"


def records(number: int) -> list[Record]:
    none = TracedWords()
    return [Record("s", (), "tool", str(index), 1, "complete", 0, {}, none, none) for index in range(number)]


async def test_a_full_queue_drops_the_oldest_and_counts() -> None:
    arrived: list[Record] = []
    exporter = TraceExporter(arrived.extend, limits=ExportLimits(limit=10, every_s=0.01))
    for record in records(25):
        exporter.enqueue(record)
    assert (exporter.depth, exporter.dropped) == (10, 15)
    exporter.start()
    await exporter.close()
    assert [record.name for record in arrived] == [str(number) for number in range(15, 25)]


def test_what_was_lost_is_counted_in_the_metrics() -> None:
    metrics = CallMetrics()
    metrics.watch_total("voice_traces_dropped", "Spans given up.", lambda: 15)
    assert metrics.registry.get_sample_value("voice_traces_dropped_total") == 15


async def test_records_arrive_in_batches_and_in_order() -> None:
    batches: list[list[str]] = []
    exporter = TraceExporter(
        lambda batch: batches.append([record.name for record in batch]), limits=ExportLimits(batch=4, every_s=0.01)
    )
    for record in records(10):
        exporter.enqueue(record)
    exporter.start()
    await exporter.close()
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert list(chain(*batches)) == [str(number) for number in range(10)]


class Flaky:
    """Fails as often as told, then delivers."""

    def __init__(self, failures: int, *, retryable: bool = True) -> None:
        self.failures = failures
        self.retryable = retryable
        self.tries: list[float] = []
        self.arrived: list[Record] = []

    def __call__(self, batch: Any) -> None:
        self.tries.append(time.monotonic())
        if len(self.tries) <= self.failures:
            error = TracingUnavailable("not now")
            error.retryable = self.retryable
            raise error
        self.arrived.extend(batch)


async def test_a_batch_that_failed_is_tried_again_after_a_growing_pause(caplog: pytest.LogCaptureFixture) -> None:
    send = Flaky(2)
    exporter = TraceExporter(send, limits=ExportLimits(every_s=0.001, rest_s=0.04, longest_rest_s=1))
    exporter.enqueue(records(1)[0])
    exporter.start()
    await until(lambda: len(send.arrived) == 1)
    await exporter.close()
    first, second, third = send.tries
    assert second - first >= 0.04 and third - second >= 0.08
    assert exporter.lost == 0
    assert [entry.levelname for entry in caplog.records] == ["WARNING", "WARNING"], "once gone, once back"


async def test_a_batch_is_given_up_after_three_attempts_and_the_next_goes_on() -> None:
    send = Flaky(3)
    exporter = TraceExporter(send, limits=ExportLimits(batch=1, every_s=0.001, rest_s=0.005, longest_rest_s=0.005))
    for record in records(2):
        exporter.enqueue(record)
    exporter.start()
    await until(lambda: len(send.arrived) == 1)
    await exporter.close()
    assert (exporter.failed, send.arrived[0].name) == (1, "1")


async def test_a_batch_that_is_refused_for_good_is_not_tried_again() -> None:
    send = Flaky(1, retryable=False)
    exporter = TraceExporter(send, limits=ExportLimits(every_s=0.001, rest_s=0.005))
    exporter.enqueue(records(1)[0])
    exporter.start()
    await until(lambda: exporter.failed == 1)
    await exporter.close()
    assert len(send.tries) == 1


async def test_a_fault_of_ours_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    arrived: list[Record] = []

    def send(batch: Any) -> None:
        if batch[0].name == "0":
            raise ValueError("somebody's words")
        arrived.extend(batch)

    exporter = TraceExporter(send, limits=ExportLimits(batch=1, every_s=0.001, rest_s=0.001, longest_rest_s=0.001))
    for record in records(2):
        exporter.enqueue(record)
    exporter.start()
    await until(lambda: len(arrived) == 1)
    await exporter.close()
    assert "ValueError" in caplog.text and "words" not in caplog.text


@pytest.mark.parametrize(("status", "again"), [(429, True), (500, True), (503, True), (401, False), (422, False)])
async def test_only_what_may_pass_is_sent_again(status: int, again: bool) -> None:
    async with langsmith(status) as server:
        tracer = tracer_to(server.url)
        tracer.session("s1").end()
        await until(lambda: server.asked == (3 if again else 1))
        await until(lambda: tracer.exporter.lost == 2)
        await tracer.close()
    assert server.asked == (3 if again else 1)


async def test_what_was_kept_arrives_once_langsmith_is_back() -> None:
    async with langsmith(503) as server:
        tracer = tracer_to(server.url)
        tracer.session("s1").end()
        await until(lambda: server.asked >= 1)
        server.mood = "well"
        await until(lambda: server.over("session"))
        await tracer.close()
    assert tracer.exporter.lost == 0


async def test_the_end_of_a_long_call_is_sent_whole_in_case_its_beginning_was_lost() -> None:
    async with langsmith() as server:
        tracer = tracer_to(server.url)
        span = tracer.session("s1")
        await until(lambda: len(server.batches) == 1)
        server.runs.clear()
        span.end("failed")
        await tracer.close()
    [run] = server.runs.values()
    assert [len(batch["patch"]) for batch in server.batches] == [0, 1]
    assert (run["name"], run["error"], run["trace_id"]) == ("session", "failed", run["id"])


async def test_closing_a_tracer_whose_server_hangs_is_bounded_and_leaves_no_thread() -> None:
    before = threading.active_count()
    async with langsmith("hangs") as server:
        tracer = tracer_to(server.url, limits=ExportLimits(every_s=0.01, close_within_s=0.1))
        tracer.session("s1").end()
        await until(lambda: server.asked == 1)
        began = time.perf_counter()
        await tracer.close()
        assert time.perf_counter() - began < 0.4
        assert tracer.exporter.lost == 2
        await until(lambda: "trace exporter" not in {thread.name for thread in threading.enumerate()})
    assert threading.active_count() <= before + 1, "the loop keeps one helper"


async def test_an_endless_answer_is_left_unread() -> None:
    async with serving(lambda _: Reply(202, parts=[b"x" * 65_536, 0.02] * 500)) as api:
        tracer = tracer_to(api.url)
        tracer.session("s1").end()
        await until(lambda: api.hung_up.is_set())
        await tracer.close()
    assert tracer.exporter.lost == 0


# --- secrets and words --------------------------------------------------------------------------------


async def call_in_trouble(server: LangSmith, *, content: bool) -> LangSmithTracer:
    """A turn traced to a server that first fails, then takes everything."""
    server.mood = 500
    tracer = tracer_to(server.url, content=content)
    weather = ["Mild, my private answer."]
    async with traced_call(tracer, weather) as placed:
        await begin_turn(placed)
        await route(placed, "knowledge", "my private query")
        await answered(placed)
        await speak_reply(placed, "my private reply")
        await until(lambda: server.asked > 0)
        server.mood = "well"
        await hang_up(placed)
    await until(lambda: server.over("session"))
    await tracer.close()
    return tracer


async def test_the_key_is_sent_as_the_documented_header_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with langsmith() as server:
        tracer = await call_in_trouble(server, content=False)
        refused = tracer_to(NOWHERE)
        refused.session("s1").end()
        await until(lambda: "cannot be reached" in caplog.text)
        await refused.close()
    assert server.keys == {KEY}
    assert KEY not in caplog.text + repr(tracer) + repr(refused)


async def test_nothing_of_what_was_said_leaves_the_server_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backend.observability")
    async with langsmith() as server:
        await call_in_trouble(server, content=False)
    sent = repr(server.batches)
    assert "private" not in sent + caplog.text
    assert server.run("turn 1")["inputs"] == {"chars": len("my very private question about Seattle")}
    assert server.run("knowledge")["inputs"] == {"chars": len("my private query")}
    model = next(run for run in server.runs.values() if run["run_type"] == "llm")
    assert set(model["inputs"]) == {"messages", "chars"} and model["inputs"]["messages"] == 2


async def test_what_was_said_is_sent_when_the_operator_says_so() -> None:
    async with langsmith() as server:
        await call_in_trouble(server, content=True)
    assert server.run("turn 1")["inputs"]["text"] == "my very private question about Seattle"
    assert server.run("turn 1")["outputs"]["text"] == "my private reply"
    model = next(run for run in server.runs.values() if run["run_type"] == "llm")
    assert [message["role"] for message in model["inputs"]["messages"]] == ["system", "user"]
    assert model["outputs"]["text"] == "Mild, my private answer."


async def test_long_words_are_cut() -> None:
    async with langsmith() as server:
        tracer = tracer_to(server.url, content=True)
        span = tracer.session("s1")
        span.asked([{"role": "user", "content": "y" * 20_000}] * 10)
        span.said("x" * 1_000_000)
        span.end()
        await tracer.close()
    assert server.run("session")["outputs"]["chars"] == 1_000_000
    assert len(repr(server.batches)) < 60_000


# --- settings -----------------------------------------------------------------------------------------


def test_tracing_without_a_key_is_refused_with_advice() -> None:
    with pytest.raises(SettingsError, match="LANGSMITH_TRACING_ENABLED needs LANGSMITH_API_KEY"):
        load_settings(_env_file=None, langsmith_tracing_enabled=True)


async def test_a_call_that_is_not_traced_asks_nothing_of_anybody() -> None:
    async with langsmith() as server:
        before = threading.active_count()
        async with traced_call(NO_TRACER, ["Because."]) as placed:
            await begin_turn(placed)
            await route(placed, "knowledge", "Why?")
            await answered(placed)
            await hang_up(placed)
        await asyncio.sleep(0)
        assert threading.active_count() <= before
    assert server.asked == 0
