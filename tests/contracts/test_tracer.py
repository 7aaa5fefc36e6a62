"""The contract of `Tracer`, tried on the one that traces nothing and on the fake."""

import asyncio
import time

import pytest

from backend.observability.tracing import NO_SPAN, Tracer, current_span, within
from backend.testing.tracer import FakeTracer


@pytest.fixture(params=[Tracer, FakeTracer])
def tracer(request: pytest.FixtureRequest) -> Tracer:
    made: Tracer = request.param()
    return made


async def test_a_span_takes_every_kind_of_note(tracer: Tracer) -> None:
    with within(tracer.session("s1")) as session:
        span = session.open("tool", "before", ago_ms=300)
        span.rename("after")
        span.note(source="live", cache=None, ms=1.5, typed=True)
        span.asked("words")
        span.said([{"role": "assistant", "content": None}, {"role": "user", "content": "words"}])
        span.spent(12)
        span.end("failed", at=span.now())
        session.end("stale")


async def test_what_happens_after_the_end_does_no_harm(tracer: Tracer) -> None:
    session = tracer.session("s1")
    session.end()
    session.end("failed")
    session.note(late=True)
    session.said("late")
    session.open("model", "late").end("cancelled")


async def test_only_tasks_that_begin_within_a_span_see_it(tracer: Tracer) -> None:
    session = tracer.session("s1")

    async def current() -> object:
        await asyncio.sleep(0)
        return current_span()

    outside = asyncio.create_task(current())
    with within(session):
        inside = asyncio.create_task(current())
    assert await inside is session
    assert await outside is NO_SPAN is current_span()


@pytest.mark.alone
def test_a_span_that_traces_nothing_costs_less_than_a_microsecond() -> None:
    def cost(rounds: int = 2_000) -> float:
        began = time.perf_counter()
        for _ in range(rounds):
            span = NO_SPAN.open("tool", "x")
            span.end()
        return (time.perf_counter() - began) / rounds * 1e6

    assert min(cost() for _ in range(20)) < 1.0
