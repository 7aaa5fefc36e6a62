"""A user's traces are deleted with their data, through LangSmith's API, and nobody else's."""

from __future__ import annotations

import pytest

from backend.errors import TracingUnavailable
from backend.observability.span_delivery import DeliveryLimits
from tests.observability.world import LangSmithTracer
from tests.support import langsmith_api
from tests.support.langsmith_api import langsmith, told
from tests.support.waiting import until

ANA, BEN = "user-of-ana", "user-of-ben"


def trace(tracer: LangSmithTracer, user: str, session: str) -> None:
    """A trace of two runs."""
    span = tracer.session(session, "turn", f"turn of {session}", user=user)
    span.open("model", f"model of {session}").end()
    span.end()


async def test_every_run_bears_a_hash_and_never_the_user_id() -> None:
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        trace(tracer, ANA, "s1")
        await tracer.close()
        assert len({told(span)["user_hash"] for span in server.spans}) == 1
        assert ANA not in server.text


async def test_erasure_deletes_all_traces_of_the_user_even_those_still_waiting() -> None:
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        for user, session in ((ANA, "s1"), (BEN, "s2"), (ANA, "s3")):
            trace(tracer, user, session)
        await tracer.traces.erase(ANA)
        await tracer.traces.delete_traces(ANA)
        await tracer.close()
        assert {span.name for span in server.spans} == {"turn of s2", "chat model of s2"}


async def test_the_export_tells_where_the_traces_are() -> None:
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url)
        trace(tracer, ANA, "s1")
        shown = await tracer.traces.export(ANA)
        await tracer.close()
        assert shown["langsmith_project"] == server.project == "tests"
        assert shown["user_hash"] == told(server.span("turn of s1"))["user_hash"]


async def test_more_traces_than_one_request_deletes_are_all_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langsmith_api, "TRACES_OF_A_DELETION", 200)
    async with langsmith() as server:
        tracer = LangSmithTracer(server.url, limits=DeliveryLimits(queue=5_000, every_s=0.05))
        for number in range(1_050):
            trace(tracer, ANA, f"a{number}")
        trace(tracer, BEN, "b1")
        await until(lambda: server.has("turn of b1"), 20.0)
        await tracer.traces.delete_traces(ANA)
        await tracer.close()
        assert {span.name for span in server.spans} == {"turn of b1", "chat model of b1"}
        assert server.deletions == 6


async def test_a_deletion_that_was_taken_and_not_carried_out_is_not_done() -> None:
    async with langsmith() as server:
        server.deletes_at_once = False
        tracer = LangSmithTracer(server.url)
        trace(tracer, ANA, "s1")
        await tracer.traces.erase(ANA)
        with pytest.raises(TracingUnavailable):
            await tracer.traces.delete_traces(ANA)
        assert server.deletions == 2, "and is not asked for again and again at once"
        server.deletes_at_once = True
        await tracer.traces.delete_traces(ANA)
        await tracer.close()


async def test_an_erasure_that_is_not_taken_is_reported() -> None:
    async with langsmith(mood=500) as server:
        tracer = LangSmithTracer(server.url)
        with pytest.raises(TracingUnavailable):
            await tracer.traces.delete_traces(ANA)
        await tracer.close()
