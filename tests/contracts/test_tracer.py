"""What every `Tracer` keeps to: run on none at all, the fake, and those to a local collector and LangSmith server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from backend.observability.tracing import NO_SPAN, NO_TRACER, Tracer, current_span, within
from backend.testing.tracer import FakeTracer
from tests.observability.world import CollectorTracer, LangSmithTracer
from tests.support.langsmith_api import langsmith
from tests.support.otlp import collector


@asynccontextmanager
async def none() -> AsyncIterator[Tracer]:
    yield NO_TRACER


@asynccontextmanager
async def fake() -> AsyncIterator[Tracer]:
    yield FakeTracer()


@asynccontextmanager
async def to_langsmith() -> AsyncIterator[Tracer]:
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        try:
            yield tracer
        finally:
            await tracer.close()
        assert tracer.delivery.lost == 0


@asynccontextmanager
async def to_a_collector() -> AsyncIterator[Tracer]:
    async with collector() as server:
        tracer = CollectorTracer(server.url)
        try:
            yield tracer
        finally:
            await tracer.close()
        assert tracer.delivery.lost == 0


OPEN: list[Callable[[], AbstractAsyncContextManager[Tracer]]] = [none, fake, to_langsmith, to_a_collector]


@pytest.fixture(params=OPEN, ids=["none", "fake", "langsmith", "collector"])
async def tracer(request: pytest.FixtureRequest) -> AsyncIterator[Tracer]:
    async with request.param() as opened:
        yield opened


async def test_a_span_takes_everything_it_may_be_told(tracer: Tracer) -> None:
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


async def test_the_current_span_reaches_tasks_begun_within_and_no_others(tracer: Tracer) -> None:
    session = tracer.session("s1")

    async def current() -> object:
        await asyncio.sleep(0)
        return current_span()

    outside = asyncio.create_task(current())
    with within(session):
        inside = asyncio.create_task(current())
    assert await inside is session
    assert await outside is NO_SPAN is current_span()


def test_no_span_costs_less_than_a_microsecond() -> None:
    def cost(rounds: int = 2_000) -> float:
        began = time.perf_counter()
        for _ in range(rounds):
            span = NO_SPAN.open("tool", "x")
            span.end()
        return (time.perf_counter() - began) / rounds * 1e6

    assert min(cost() for _ in range(20)) < 1.0
