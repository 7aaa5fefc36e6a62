"""A user's traces are deleted with their data, through LangSmith's API, and no other user's."""

from __future__ import annotations

import pytest

from backend.errors import PeerError
from backend.extensions.tracing.destinations import Destinations
from backend.extensions.tracing.langsmith import LangSmithTraces
from tests.extensions.tracing.langsmith_api import KEY, langsmith, meta
from tests.extensions.tracing.world import traces_to
from tests.support.running_server import a_browser, running_server
from tests.support.waiting import until

ANA, BEN = "user-of-ana", "user-of-ben"


def trace(traces: Destinations, user: str, session: str) -> LangSmithTraces:
    """Trace two runs; return their destination."""
    span = traces.tracer.session(session, "turn", f"turn of {session}", user=user)
    span.open("model", f"model of {session}").end()
    span.end()
    assert traces.langsmith is not None
    return traces.langsmith


async def test_erasure_deletes_all_traces_of_the_user_even_waiting_ones() -> None:
    async with langsmith() as server, traces_to(server) as traces:
        for user, session in ((ANA, "s1"), (BEN, "s2"), (ANA, "s3")):
            stored = trace(traces, user, session)
        await stored.erase(ANA)
        assert len({meta(span)["user_hash"] for span in server.spans}) == 2 and ANA not in server.text
        await stored.delete_traces(ANA)
        assert {span.name for span in server.spans} == {"turn of s2", "chat model of s2"}


async def test_the_export_says_where_the_traces_are() -> None:
    async with langsmith() as server:
        async with traces_to(server) as traces:
            shown = await trace(traces, ANA, "s1").export(ANA)
        assert shown["langsmith_project"] == server.project == "tests"
        assert shown["user_hash"] == meta(server.span("turn of s1"))["user_hash"]


async def test_an_accepted_deletion_that_is_not_carried_out_is_not_done() -> None:
    async with langsmith() as server, traces_to(server) as traces:
        server.deletes_at_once = False
        stored = trace(traces, ANA, "s1")
        await stored.erase(ANA)
        with pytest.raises(PeerError):
            await stored.delete_traces(ANA)
        server.deletes_at_once = True
        await stored.delete_traces(ANA)


async def test_a_refused_deletion_is_reported() -> None:
    async with langsmith(mood=500) as server, traces_to(server) as traces:
        with pytest.raises(PeerError):
            await trace(traces, ANA, "s1").delete_traces(ANA)


async def test_an_erased_user_has_no_traces_left() -> None:
    async with langsmith() as server:
        settings = {"LANGSMITH_TRACING_ENABLED": "true", "LANGSMITH_API_KEY": KEY, "LANGSMITH_ENDPOINT": server.url}
        with running_server(None, **settings) as running:
            async with a_browser(running) as ana, a_browser(running) as ben:
                for browser in (ana, ben):
                    await browser.get("/api/me")
                    await browser.post("/api/multiturn", json={"message": "Hello."}, timeout=30)
                await until(lambda: len({meta(span)["user_hash"] for span in server.spans}) == 2)
                hash_of_ana = (await ana.get("/api/me/export")).json()["traces"]["user_hash"]
                assert (await ana.delete("/api/me", timeout=15)).json() == {"ok": True}
                left = {meta(span)["user_hash"] for span in server.spans}
                assert len(left) == 1 and hash_of_ana not in left
                server.mood = 503
                assert (await ben.delete("/api/me", timeout=15)).json() == {"ok": True, "later": ["traces"]}
