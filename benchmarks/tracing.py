"""What tracing costs a call: `python -m benchmarks.tracing`, about half a minute.

One turn is played through the very hooks a call has (a Thinker, two requests to a model with forty words, one tool),
with tracing off and on. Then a loop wakes every 20 ms, as the audio does, while traces are taken to a local server
in a process of its own, by each exporter, and tells how late it was and what processor time a turn cost in all, the
exporter's thread included. On a busy machine trust the smallest, and the differences.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from statistics import median, quantiles

from opentelemetry.sdk.trace import TracerProvider
from rich.console import Console
from rich.table import Table

from backend.agent.events import AgentEvent, ModelAnswered, ModelAsked, StateChanged, TurnState
from backend.agent.trace import AgentTrace
from backend.call.call_trace import CallTrace
from backend.models.base import ChatMessage
from backend.observability.langsmith import LangSmithTraces
from backend.observability.otel_spans import OtelTracer
from backend.observability.otlp import otlp_delivery
from backend.observability.span_delivery import SpanDelivery
from backend.observability.tracing import NO_SPAN, NO_TRACER, Tracer, current_span
from backend.page_events import (
    ThinkerChanged,
    ThinkerWork,
    TokenGenerated,
    ToolCallFinished,
    ToolCallStarted,
    TranscriptCompleted,
    TurnMeasured,
)
from backend.sessions.registry import Session
from backend.turns.events import SpeechStopped

TURNS = 2_000
WATCHED_S = 6.0
TURNS_PER_S = 10
"""As many as some eighty calls at once take."""
MESSAGES: list[ChatMessage] = [
    {"role": "system", "content": "x" * 3000},
    *[ChatMessage(role="user", content="y" * 200) for _ in range(8)],
]
LEGS = TurnMeasured(1, 300, 1, 50, 100, 0, 20, 471, 60)
EVENTS: list[AgentEvent] = [
    StateChanged(TurnState.PROCESSING),
    ModelAsked("a-model", MESSAGES, 2),
    ModelAnswered("a-model", "", ("a_tool",), "tool_calls", 100, 5, None),
    StateChanged(TurnState.TOOL_CALLING),
    ToolCallStarted("t", "a_tool", '{"location": "Seattle"}'),
    ToolCallFinished("t", "a_tool", "{}" * 400, None, False, 80),
    StateChanged(TurnState.PROCESSING),
    ModelAsked("a-model", MESSAGES, 2),
    StateChanged(TurnState.GENERATING),
    *[TokenGenerated("word ")] * 40,
    ModelAnswered("a-model", "word " * 40, (), "stop", 300, 40, 12.0),
    StateChanged(TurnState.COMPLETE),
]


def main() -> None:
    """Measure, and print two tables."""
    console = Console()
    table = Table("", "least µs", "median µs", title="What is done on the audio's thread")
    for name, costs in costs_of_turns():
        table.add_row(name, f"{min(costs):.1f}", f"{median(costs):.1f}")
    console.print(table)
    lags = Table("", "p50 ms", "p99 ms", "most ms", "CPU µs/turn", title="How late a loop was that wakes every 20 ms")
    for name, late, cost in asyncio.run(latenesses()):
        figures = (median(late), quantiles(late, n=100)[98], max(late))
        lags.add_row(name, *(f"{value:.2f}" for value in figures), f"{cost:.0f}")
    console.print(lags)


def costs_of_turns() -> Iterator[tuple[str, list[float]]]:
    """Microseconds of each turn."""
    yield "one turn, tracing off", timed(NO_TRACER)
    yield "one turn, tracing on", timed(unsent(content=False))
    yield "one turn, tracing on, with what is said", timed(unsent(content=True))
    yield "one span, tracing off", [one_span_off() for _ in range(200)]


def unsent(*, content: bool) -> OtelTracer:
    """A tracer whose spans go nowhere."""
    return OtelTracer(TracerProvider(shutdown_on_exit=False), content=content)


def tracer_of(delivery: SpanDelivery) -> OtelTracer:
    """A tracer with one delivery."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(delivery)
    return OtelTracer(provider)


def to_langsmith(url: str) -> SpanDelivery:
    """A delivery by LangSmith's package."""
    return LangSmithTraces(endpoint=url, api_key="none", project="benchmark").delivery


def timed(tracer: Tracer) -> list[float]:
    """Many turns of one call."""
    trace = CallTrace(tracer, Session("ada", "benchmark"))
    costs = []
    for number in range(1, TURNS + 1):
        began = time.perf_counter()
        one_turn(trace, number)
        costs.append((time.perf_counter() - began) * 1e6)
    trace.close("disconnected")
    return costs


def one_turn(trace: CallTrace, number: int) -> None:
    """Everything a call tells its trace in a turn."""
    call = f"c{number}"
    work = ThinkerWork("weather", "Weather", "weather in Seattle", 80, number, 700)
    trace.on_turn(number, SpeechStopped(900, 300))
    trace.on_event(TranscriptCompleted("user", "u1", "What is the weather in Seattle?"))
    with trace.thinker(call):
        trace.on_event(ThinkerChanged(call, "routed", work))
        current_span().note(domain="weather", tier="fast", cache="off")
        current_span().note(cache="miss")
        agent = AgentTrace()
        for event in EVENTS:
            agent.follow(event)
    trace.on_event(ThinkerChanged(call, "complete", replace(work, source="live")))
    trace.on_event(LEGS)
    trace.on_event(TranscriptCompleted("assistant", "a1", "It is mild in Seattle."))
    for _ in range(30):
        trace.on_turn(number, None)


def one_span_off(rounds: int = 1_000) -> float:
    """Microseconds of a span when nobody is watching."""
    began = time.perf_counter()
    for _ in range(rounds):
        NO_SPAN.open("tool", "x").end()
    return (time.perf_counter() - began) / rounds * 1e6


async def latenesses() -> list[tuple[str, list[float], float]]:
    """Milliseconds the loop was late, and the processor time of a turn in µs, by destination."""
    gc.collect()
    gc.freeze()  # as the server does once it has started
    measured = [("tracing off", *await watched(NO_TRACER))]
    with receiving() as url:
        for name, endpoint, opened in (
            ("to a collector", url, otlp_delivery),
            ("to LangSmith", url, to_langsmith),
            ("to a collector that is gone", "http://127.0.0.1:9", otlp_delivery),
        ):
            delivery = opened(endpoint)
            measured.append((name, *await watched(tracer_of(delivery))))
            await delivery.close()
    return measured


async def watched(tracer: Tracer) -> tuple[list[float], float]:
    """Wake every 20 ms; take some turns a second meanwhile."""
    began = time.process_time()
    trace = CallTrace(tracer, Session("ada", "benchmark"))
    loop = asyncio.get_running_loop()
    late: list[float] = []
    due, turn, until = loop.time(), 0, loop.time() + WATCHED_S
    while due < until:
        due += 0.02
        await asyncio.sleep(due - loop.time())
        late.append((loop.time() - due) * 1e3)
        if len(late) % (50 // TURNS_PER_S) == 0:
            turn += 1
            one_turn(trace, turn)
    trace.close("disconnected")
    return late, (time.process_time() - began) / turn * 1e6


@contextmanager
def receiving() -> Iterator[str]:
    """A server that takes everything, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=receive, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def receive(port: Connection) -> None:
    """Serve until ended."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    port.send(server.server_address[1])
    server.serve_forever()


class Taker(BaseHTTPRequestHandler):
    """200 to everything."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read it, and say so."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Quietly."""


if __name__ == "__main__":
    main()
