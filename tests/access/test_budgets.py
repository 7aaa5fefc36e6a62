"""Each kind of budget refuses requests at every process, and also in the middle of a turn."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from backend.access.access import Access
from backend.access.usage import EVERYBODY, DayCounts, Resource, Subject, SubjectKind
from backend.tasks.repository import TaskRepository
from backend.testing.model import Line, Scene
from tests.access.world import ASKED, OTHER, STRANGER, TURN_TOKENS, paying
from tests.http.test_keys import SECRET, shown, token
from tests.http.world import SDP, World, message_of
from tests.support.agents import call
from tests.support.tasks import add_to_stream

USED_UP = {"model_tokens": TURN_TOKENS}
"""A budget that one answer of a model uses up."""
AGAIN: list[Line] = [call("no_such_tool")]
"""An answer with a tool call, after which the agent asks the model once more."""


async def order(here: World, headers: dict[str, str]) -> httpx2.Response:
    """Begin a task without a cookie."""
    async with here.browser(headers=headers) as client:
        return await client.post("/api/tasks", json={"instruction": f"look {time.monotonic_ns()}"})


async def test_tasks_of_an_address_are_counted_over_both_processes_and_all_cookies(tmp_path: Path) -> None:
    server, budgets = FakeServer(), {"address": {"tasks": 6}}
    async with paying(tmp_path, server, budgets=budgets) as one, paying(tmp_path, server, budgets=budgets) as two:
        answers = []
        for here, there in ((one, two), (two, one)):
            answers += await asyncio.gather(*(order(here, STRANGER) for _ in range(4)))
            await here.services.people.budgets.day_counts.flush()
            answers.append(await order(there, STRANGER))
        assert sorted(answer.status_code for answer in answers) == [202] * 6 + [429] * 4
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "address" in message_of(refused) and refused.json()["error"]["hint"]
        assert int(refused.headers["retry-after"]) <= 86_400
        assert (await order(one, OTHER)).status_code == 202
        assert [(await order(two, {})).status_code for _ in range(8)] == [202] * 8, "a local caller was refused"


async def test_a_task_is_charged_once_however_often_its_creation_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with paying(tmp_path, budgets={"user": {"tasks": 6}}) as here, here.browser(headers=STRANGER) as client:
        tasks, ask = here.services.work.tasks, {"instruction": "how bees sleep"}
        with monkeypatch.context() as patched:
            patched.setattr(tasks, "repository", TaskRepository(FakeAsyncRedis(connected=False), add_to_stream))
            assert [(await client.post("/api/tasks", json=ask)).status_code for _ in range(3)] == [503] * 3
        assert len({(await client.post("/api/tasks", json=ask)).json()["id"] for _ in range(3)}) == 1
        assert (await client.get("/api/me/usage")).json()["user"]["used"]["tasks"] == 1


async def test_a_charge_that_is_taken_back_while_it_is_written_does_not_count() -> None:
    counts, one = DayCounts(FakeAsyncRedis()), Counter({Resource.TASKS: 1})
    counts.charge([EVERYBODY], one)
    writing = asyncio.create_task(counts.flush())
    await asyncio.sleep(0)
    counts.charge([EVERYBODY], Counter({Resource.TASKS: -1}))
    await writing
    await counts.flush()
    await counts.read([EVERYBODY])
    assert counts.known(EVERYBODY)[Resource.TASKS] == 0


async def test_model_tokens_used_up_at_one_process_are_refused_at_the_other(tmp_path: Path) -> None:
    server, budgets = FakeServer(), {"user": USED_UP}
    async with (
        paying(tmp_path, server, budgets=budgets, scenes=["Four."]) as one,
        paying(tmp_path, server, budgets=budgets) as two,
        one.browser(headers=STRANGER) as client,
    ):
        assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200
        await one.services.people.budgets.day_counts.flush()
        async with two.browser(headers=STRANGER, cookies={"caller": client.cookies["caller"]}) as elsewhere:
            assert (await elsewhere.post("/api/singleturn", json=ASKED)).status_code == 429
            usage = (await elsewhere.get("/api/me/usage")).json()
            assert usage["limited"] is True
            assert (usage["user"]["limits"]["model_tokens"], usage["user"]["used"]["model_tokens"]) == (15, 15)
            assert (await elsewhere.get("/api/me")).status_code == 200, "a request that costs nothing was refused"


async def test_every_costly_route_answers_503_with_a_hint_above_the_ceiling(tmp_path: Path) -> None:
    costly = {
        "/api/singleturn": ASKED,
        "/api/multiturn": ASKED,
        "/api/reasoning": {"task": "think"},
        "/api/tasks": {"instruction": "look into it"},
        "/api/input": {"text": "look into it"},
        "/embedding": {"input": "words"},
        "/api/sessions": {},
        "/api/rtc/offer": {"sdp": SDP},
    }
    async with paying(tmp_path, budgets={"total": USED_UP}, scenes=["Four."], admin_token="a" * 16) as here:
        here.services.people.budgets.register_in(here.metrics.registry)
        async with here.browser() as at_home:  # counted, never refused
            assert (await at_home.post("/api/singleturn", json=ASKED)).status_code == 200
        async with here.browser(headers=OTHER) as client:
            for path, body in costly.items():
                answer = await client.post(path, json=body)
                assert answer.status_code == 503, (path, answer.text)
                assert "midnight UTC" in answer.json()["error"]["hint"] and int(answer.headers["retry-after"]) > 0
        value = here.metrics.registry.get_sample_value
        assert value("voice_budget_limit", {"resource": "model_tokens"}) == TURN_TOKENS
        assert value("voice_budget_refusals_total", {"resource": "model_tokens", "scope": "total"}) == len(costly)
        async with here.browser(headers={"authorization": "Bearer " + "a" * 16}) as operator:
            overview = (await operator.get("/api/admin/overview")).json()
            assert overview["budget"]["used"]["model_tokens"] == TURN_TOKENS


async def test_an_address_has_two_live_calls_and_eight_streams_over_both_processes(tmp_path: Path) -> None:
    server = FakeServer()
    async with (
        paying(tmp_path, server, budgets={}) as one,
        paying(tmp_path, server, budgets={}) as two,
        one.browser(headers=STRANGER) as first,
        two.browser(headers=STRANGER) as second,
    ):
        calls = [(await each.post("/api/sessions", json={})).json()["session_id"] for each in (first, second)]
        for client in (first, second):
            refused = await client.post("/api/sessions", json={})
            assert refused.status_code == 429 and "calls" in message_of(refused)
        async with two.browser(headers=OTHER) as other:
            assert (await other.post("/api/sessions", json={})).status_code == 200
        opened = []
        for number in range(9):
            client, id_ = (first, second)[number % 2], calls[number % 2]
            opened.append(await client.send(client.build_request("GET", f"/api/events/{id_}"), stream=True))
        assert [response.status_code for response in opened] == [200] * 8 + [429]
        for response in opened:
            await response.aclose()


async def test_new_users_of_an_address_are_limited_over_both_processes(tmp_path: Path) -> None:
    server, budgets = FakeServer(), {"new_users_per_day": 3}
    async with paying(tmp_path, server, budgets=budgets) as one, paying(tmp_path, server, budgets=budgets) as two:

        async def visit(here: World) -> httpx2.Response:
            async with here.browser(headers=STRANGER) as client:
                return await client.get("/")

        pages = []
        for here in (one, two):
            pages += await asyncio.gather(*(visit(here) for _ in range(2)))
            await here.services.people.budgets.day_counts.flush()
        assert [page.status_code for page in pages] == [200] * 4
        known = [page.cookies["caller"] for page in pages if "set-cookie" in page.headers]
        assert len(known) == 3
        async with one.browser(headers=STRANGER) as client:
            refused = await client.post("/api/singleturn", json=ASKED)
            assert refused.status_code == 429 and "new users" in message_of(refused)
            client.cookies.set("caller", known[0])
            assert (await client.get("/api/tasks")).status_code == 200
        assert (await order(two, OTHER)).status_code == 202


async def test_an_address_runs_four_turns_in_parallel(tmp_path: Path) -> None:
    async with paying(tmp_path, budgets={}, scenes=[[1.0, "Four."]] * 4 + ["Four."]) as here:

        async def ask(_: int) -> httpx2.Response:
            async with here.browser(headers=STRANGER) as client:  # each without a cookie
                return await client.post("/api/singleturn", json=ASKED)

        answers = await asyncio.gather(*map(ask, range(6)))
        assert sorted(answer.status_code for answer in answers) == [200] * 4 + [429] * 2
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert "messages being answered" in message_of(refused) and int(refused.headers["retry-after"]) > 0
        assert (await ask(0)).status_code == 200, "the turns that ended were not released"


async def test_money_is_counted_by_the_prices_and_refused_once_it_is_spent(tmp_path: Path) -> None:
    one_dollar = {"text_in": 1_000_000, "text_out": 1_000_000}
    budgets = {"prices": {"dear": one_dollar}, "user": {"usd": 1}}
    models: dict[str, Any] = {"thinker_model": "dear", "thinker_model_advanced": "dear"}
    async with (
        paying(tmp_path, budgets=budgets, scenes=["Four."], **models) as here,
        here.browser(headers=STRANGER) as client,
    ):
        assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200
        usage = (await client.get("/api/me/usage")).json()["user"]
        assert (usage["limits"]["micro_usd"], usage["used"]["micro_usd"]) == (1_000_000, TURN_TOKENS * 1_000_000)
        refused = await client.post("/api/singleturn", json=ASKED)
        assert refused.status_code == 429 and "money" in message_of(refused)


async def test_vectors_are_charged_as_tokens_of_their_model(tmp_path: Path) -> None:
    async with (
        paying(tmp_path, budgets={"user": {"model_tokens": 100}}) as here,
        here.browser(headers=STRANGER) as client,
    ):
        assert (await client.post("/embedding", json={"input": ["a" * 200, "b" * 199]})).status_code == 200
        assert (await client.get("/api/me/usage")).json()["user"]["used"]["model_tokens"] == 100
        refused = await client.post("/embedding", json={"input": "c"})
        assert refused.status_code == 429 and "model tokens" in message_of(refused)


async def test_the_bytes_of_a_body_are_counted_and_refused_before_they_are_stored(tmp_path: Path) -> None:
    fact = {"changes": [{"op": "add_fact", "text": "likes tea " * 15}]}
    async with (
        paying(tmp_path, budgets={"user": {"kept_kilobytes": 1}}) as here,
        here.browser(headers=STRANGER) as client,
    ):
        answers = [await client.patch("/api/me", json=fact) for _ in range(6)]
        statuses = [answer.status_code for answer in answers]
        assert statuses[0] == 200 and statuses[-1] == 429, answers[0].text
        assert "stored bytes" in message_of(answers[-1])
        used = (await client.get("/api/me/usage")).json()["user"]["used"]["kept_bytes"]
        length = len(answers[0].request.content)
        assert used == length * statuses.count(200) <= 1000, "a refused body was charged"


def keyed(directory: Path, **options: Any) -> Any:
    access: dict[str, Any] = {"services_with": {"access": Access(frozenset({"key"}))}}
    return paying(directory, access=["key"], api_keys=f"shop:{SECRET},mill:{SECRET[:-1]}t", **access, **options)


async def test_all_users_of_an_api_key_share_its_budget(tmp_path: Path) -> None:
    async with keyed(tmp_path, budgets={"key": {"tasks": 2}}) as here:
        answers = [await order(here, shown(token("tasks", sub=user))) for user in ("ada", "bob", "cleo")]
        assert [answer.status_code for answer in answers] == [202, 202, 429], answers[0].text
        assert "API key" in message_of(answers[2])
        other = token("tasks", key="mill", secret=f"{SECRET[:-1]}t")
        assert (await order(here, shown(other))).status_code == 202


@pytest.mark.parametrize("path", ["/api/singleturn", "/api/multiturn", "/api/reasoning"])
async def test_a_turn_over_the_budget_of_its_user_answers_429_with_a_hint(tmp_path: Path, path: str) -> None:
    scenes: list[Scene] = [AGAIN, "Four."]
    async with paying(tmp_path, budgets={"user": USED_UP}, scenes=scenes, thoughts=scenes) as here:
        async with here.browser(headers=STRANGER) as client:
            refused = await client.post(path, json={"task": "think"} if path == "/api/reasoning" else ASKED)
            assert refused.status_code == 429, refused.text
            assert "model tokens is used up" in message_of(refused)
            assert "midnight UTC" in refused.json()["error"]["hint"] and int(refused.headers["retry-after"]) > 0
        assert here.services.people.budgets.refusals == {(SubjectKind.USER, Resource.MODEL_TOKENS): 1}


async def test_a_streamed_turn_over_its_budget_ends_with_an_error_and_a_hint(tmp_path: Path) -> None:
    async with (
        paying(tmp_path, budgets={"user": USED_UP}, scenes=[AGAIN, "Four."]) as here,
        here.browser(headers=STRANGER) as client,
    ):
        lines = (await client.post("/api/multiturn", json=ASKED | {"stream": True})).text.splitlines()
        data = json.loads(lines[lines.index("event: error") + 1].removeprefix("data: "))
        assert "used up" in data["message"] and "midnight UTC" in data["hint"]


DISGUISES: dict[str, Callable[[int], str]] = {
    "a port": lambda n: f"198.51.100.1:{1000 + n}",
    "an address before it": lambda n: f"10.9.{n}.1, 198.51.100.2",
    "our own before it": lambda _: "127.0.0.1, 198.51.100.3",
    "another of its network": lambda n: f"2001:db8::{n:x}",
    "a port behind IPv6": lambda n: f"[2001:db8:1::1]:{1000 + n}",
    "an interface": lambda n: f"fe80::1%eth{n}",
    "a name": lambda n: f"host-{n}.example",
    "our own": lambda _: "127.0.0.1",
    "nothing": lambda _: "",
}
"""What differs between the requests of one stranger → the header that the proxy would pass on."""


@pytest.mark.parametrize("differs", DISGUISES)
async def test_a_disguised_address_does_not_count_as_a_new_one(tmp_path: Path, differs: str) -> None:
    async with paying(tmp_path, budgets={"address": {"tasks": 2}}) as here:
        statuses = Counter(
            [(await order(here, {"X-Forwarded-For": DISGUISES[differs](number)})).status_code for number in range(6)]
        )
        assert statuses[202] <= 2 and statuses[429] >= 4, statuses


async def test_requests_read_a_slow_redis_in_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = DayCounts(FakeAsyncRedis())
    execute = counts._client.execute

    async def slowly(pipe: Any) -> Any:
        await asyncio.sleep(1)
        return await execute(pipe)

    monkeypatch.setattr(counts._client, "execute", slowly)
    async with asyncio.timeout(5):
        await asyncio.gather(*(counts.read([Subject(SubjectKind.USER, f"user {number}")]) for number in range(10)))
