"""Research: planned, searched in parallel, checked for gaps, written with its sources."""

import asyncio
import json
from typing import Any

import pytest

from backend.citations import Citation
from backend.settings.settings import Settings, load_settings
from backend.testing.services import newsapi, search_apis
from backend.testing.services.server import Reply, Request, json_reply, serving
from backend.thinkers.research import Search, read_plan
from tests.support.waiting import until
from tests.thinkers.world import world


def plan(*searches: tuple[str, list[str]]) -> list[str]:
    return [json.dumps({"searches": [{"query": query, "sources": sources} for query, sources in searches]})]


def everything(request: Request) -> Reply:
    """The web and the news behind one address."""
    if request.path in ("/everything", "/top-headlines"):
        return newsapi.answering(request)
    return search_apis.searxng(request)


def settings_for(url: str, **more: Any) -> Settings:
    keys: dict[str, Any] = {"newsapi_api_key": newsapi.KEY}
    return load_settings(_env_file=None, **{"searxng_url": url, "newsapi_url": url} | keys | more)


NOTHING_MORE = plan()


async def test_it_plans_gathers_and_writes_with_citations() -> None:
    scenes = (
        plan(("bike lanes", ["web_search", "get_news_headlines"]), ("trams", ["web_search"])),
        NOTHING_MORE,
        ["Bikes **work**."],
    )
    async with serving(everything) as server, world(*scenes, settings=settings_for(server.url)) as w:
        answer = await w.ask("research", "Do bikes help?")
        written_from = w.model.requests[-1]["messages"][-1]["content"]
        assert "Lanes work." not in w.system()
    assert (answer.text, answer.source, answer.tool_calls) == ("Bikes work.", "live", 3)
    assert Citation("Trams", "https://b.example/trams") in answer.citations
    assert "Lanes work." in written_from
    assert answer.tokens == 45
    assert w.progress[0] == "planning the search"
    assert sorted(line.split(" (")[0] for line in w.progress[1:4]) == [
        "searched the news",
        "searched the web",
        "searched the web",
    ]
    assert w.progress[-2:] == ["checking what is missing", "writing the answer"]


async def test_a_second_round_fills_gaps_and_repeats_no_search() -> None:
    first, second = plan(("bikes", ["web_search"])), plan(("bikes", ["web_search"]), ("trams", ["web_search"]))
    async with serving(everything) as server, world(first, second, ["Both."], settings=settings_for(server.url)) as w:
        await w.ask("research", "What works?")
    assert [request.query["q"] for request in server.requests] == ["bikes", "trams"]
    assert "Lanes work." in w.model.requests[1]["messages"][-1]["content"]


async def test_searches_run_in_parallel() -> None:
    most = 0

    def handler(request: Request) -> Reply:
        nonlocal most
        most = max(most, server.open)
        return Reply(parts=[0.8, b'{"results": []}'])

    searches = plan(*((f"q{n}", ["web_search"]) for n in range(4)))
    scenes = searches, NOTHING_MORE, ["None."]
    async with serving(handler) as server, world(*scenes, settings=settings_for(server.url)) as w:
        await w.ask("research", "x")
    assert most == 4


async def test_without_a_plan_the_question_itself_is_searched_everywhere() -> None:
    scenes = ["I like bikes."], ["Nothing to add."], ["Bikes."]
    async with serving(everything) as server, world(*scenes, settings=settings_for(server.url)) as w:
        answer = await w.ask("research", "Do bikes help?")
    assert answer.source == "live"
    assert {request.path for request in server.requests} == {"/search", "/everything"}


async def test_a_failing_source_is_reported_and_the_others_count() -> None:
    def handler(request: Request) -> Reply:
        return json_reply({}, 500) if request.path == "/search" else everything(request)

    scenes = plan(("bikes", ["web_search", "get_news_headlines"])), NOTHING_MORE, ["Partly."]
    async with serving(handler) as server, world(*scenes, settings=settings_for(server.url)) as w:
        answer = await w.ask("research", "x")
        assert "has an error of its own" in w.model.requests[-1]["messages"][-1]["content"]
    assert answer.source == "live"
    assert any(line.startswith("could not search the web") for line in w.progress)


async def test_sample_headlines_make_the_whole_answer_say_so() -> None:
    async with world(
        plan(("bikes", ["get_news_headlines"])),
        NOTHING_MORE,
        ["Bikes."],
        plan(("b", ["get_news_headlines"])),
        NOTHING_MORE,
        ["B."],
    ) as w:
        answer = await w.ask("research", "x")
        assert answer.source == "sample"
        assert "sample data" in answer.text
        assert (await w.ask("research", "x")).source != "cache"


async def test_an_answer_without_findings_is_not_live_and_not_cached() -> None:
    nothing = plan(("bikes", ["kb_search"])), NOTHING_MORE, ["I found nothing."]
    async with world(*nothing, *nothing) as w:
        answer = await w.ask("research", "x")
        again = await w.ask("research", "x")
    assert (answer.source, answer.citations) == ("model", ())
    assert again.source == "model"


async def test_cancelling_stops_a_running_search() -> None:
    slow = Reply(parts=[b'{"res', 30.0, b'ults": []}'])
    async with (
        serving(lambda request: slow) as server,
        world(plan(("bikes", ["web_search"])), settings=settings_for(server.url)) as w,
    ):
        task = asyncio.create_task(w.ask("research", "x"))
        await until(lambda: server.open == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 10)


@pytest.mark.document("001", "routing and Thinkers")
async def test_the_demonstration_delay_is_kept_and_reported() -> None:
    scenes = plan(("bikes", ["kb_search"])), NOTHING_MORE, ["Done."]
    async with world(*scenes, settings=load_settings(_env_file=None, research_delay_s=1.0)) as w:
        answer = await w.ask("research", "x")
    assert answer.latency_ms >= 1000
    assert any(line.startswith("comparing the sources") for line in w.progress)


@pytest.mark.parametrize(
    ("text", "searches"),
    [
        (
            '{"searches": [{"query": "a", "sources": ["web_search", "web_search", "moon"]}]}',
            [Search("a", "web_search")],
        ),
        ('Sure:\n```json\n{"searches": [{"query": " a "}]}\n```', [Search("a", "web_search")]),
        ('{"searches": []}', []),
        ('{"searches": [3, {"query": ""}, {"query": 4}]}', []),
        ("no plan", None),
        ('{"searches": "a"}', None),
        ("{", None),
        ('{"plan": []}', None),
    ],
)
def test_a_plan_is_read_leniently(text: str, searches: list[Search] | None) -> None:
    assert read_plan(text, ["web_search", "kb_search"]) == searches
