"""`/notification` on a real socket: a user's own reminders, and the stream that an open page reads."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from backend.app.notifications import Notifications, open_notifications
from backend.http.page_streams import PageStreams
from backend.notifications.notices import Notice
from backend.sessions.event_log import PageMessage
from backend.settings.notifications import NotificationSettings
from backend.storage.pubsub import PubSub, UserMessage
from backend.testing.memory import FakeMemory
from backend.turns.events import NoticeArrived
from tests.http.test_keys import SECRET, keyed, token
from tests.http.world import World
from tests.support.waiting import until

ANYBODY, FOR_ADA, STRANGER = token("notify", "on_behalf"), token("notify"), token("mcp_external")
OF_MILL = token("notify", "on_behalf", key="mill", secret=SECRET[:-1] + "t")
ADA = "shop.ada"


@dataclass
class Server:
    """A server with reminders, and their store. The test moves `now`."""

    here: World
    memory: FakeMemory
    notifications: Notifications
    now: list[float]


@asynccontextmanager
async def server_with_reminders(
    folder: Path, *, world_with: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[Server]:
    store, now = FakeServer(), [1_795_262_400.0]
    chosen = NotificationSettings.model_validate(settings)
    memory = FakeMemory()
    async with (
        aclosing(FakeAsyncRedis(server=store)) as redis,
        aclosing(FakeAsyncRedis(server=store)) as waiting,
        open_notifications(
            chosen, redis, (pubsub := PubSub(redis, waiting)), memory, clock=lambda: now[0]
        ) as notifications,
    ):
        pages = PageStreams()

        def show(message: UserMessage | None) -> None:
            if message and message.type:
                pages.show(message.user, PageMessage(message.type, message.data))

        pubsub.on_user_message(show)
        reminders = notifications.reminders
        services = {
            "reminders": reminders,
            "notices": notifications.dispatcher,
            "pages": pages,
            "user_data": {"reminders": reminders},
        }
        async with keyed(folder, "open", "key", services_with=services, **world_with or {}) as here:
            try:
                yield Server(here, memory, notifications, now)
            finally:
                pages.close()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def user_of(browser: httpx2.AsyncClient) -> str:
    """The user that the server takes this browser for."""
    await browser.get("/api/config")
    (value,) = browser.cookies.jar
    return str(value.value).strip('"').rsplit(".", 2)[0]


@pytest.mark.document("002", "notification")
async def test_a_reminder_is_set_listed_exported_and_canceled(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        made = await browser.post("/notification", json={"text": " take the bread  out ", "at": "in ten minutes"})
        assert made.status_code == 201, made.text
        kept = made.json()
        assert kept["text"] == "take the bread out" and kept["at"] == "2026-11-21T12:10:00+00:00"
        assert (kept["repeat"], kept["state"], kept["in_s"]) == ("none", "set", 600)
        user = await user_of(browser)
        for name in ("me", user):
            listed = (await browser.get(f"/notification/{name}")).json()
            assert [each["id"] for each in listed["notifications"]] == [kept["id"]]
        assert (await browser.get("/api/me/export")).json()["reminders"][0]["text"] == "take the bread out"
        assert (await browser.delete(f"/notification/{user}/{kept['id']}")).json()["canceled"]["id"] == kept["id"]
        assert (await browser.delete(f"/notification/me/{kept['id']}")).status_code == 404
        assert (await browser.get("/notification/me")).json() == {"notifications": []}


async def test_an_erased_user_gets_no_reminders(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        await browser.post("/notification", json={"text": "bread", "at": "in ten minutes"})
        assert (await browser.delete("/api/me")).status_code == 200
        assert (await browser.get("/notification/me")).json() == {"notifications": []}
        at.now[0] += 700
        assert (await browser.post("/notification/execute")).json()["due"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x", "at": "2020-01-01T00:00Z"},
        {"text": "x", "at": "soon"},
        {"text": "x", "at": "in ten minutes", "repeat": "often"},
        {"text": "x", "at": "in ten minutes", "time_zone": "Mars/Base"},
        {"text": "x" * 501, "at": "in ten minutes"},
        {"text": "  ", "at": "in ten minutes"},
        {"at": "in ten minutes"},
        {"text": "x", "at": "in ten minutes", "id": "no spaces"},
        {"text": "x", "at": "in ten minutes", "user": "a b"},
        {"text": "x", "at": "in ten minutes", "interruptible": "no"},
    ],
)
async def test_an_impossible_reminder_is_refused_with_a_hint(body: dict[str, str], tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        refused = await browser.post("/notification", json=body)
        assert refused.status_code == 422 and refused.json()["error"]["hint"]
        assert "xxx" not in refused.text, "the answer repeats no words of the request"


async def test_a_repeated_request_sets_nothing_new_and_the_number_is_limited(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path, per_user=1) as at, at.here.browser() as browser:
        body = {"text": "bread", "at": "in ten minutes", "id": "mine-1"}
        first, again = [(await browser.post("/notification", json=body)).json() for _ in range(2)]
        assert first["id"] == again["id"] == "mine-1"
        full = await browser.post("/notification", json={**body, "id": "mine-2"})
        assert full.status_code == 429 and full.headers["retry-after"]


async def test_a_user_cannot_set_read_or_cancel_anothers_reminders(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as ana, at.here.browser() as eve:
        made = (await ana.post("/notification", json={"text": "bread", "at": "in ten minutes"})).json()
        user = await user_of(ana)
        forced = await eve.post("/notification", json={"user": user, "text": "boo", "at": "in ten minutes"})
        assert forced.status_code == 403
        hidden, nothing = await eve.get(f"/notification/{user}"), await eve.get("/notification/nobody")
        assert hidden.status_code == nothing.status_code == 404 and hidden.json() == nothing.json()
        assert (await eve.delete(f"/notification/{user}/{made['id']}")).status_code == 404
        at.now[0] += 600
        assert (await eve.post("/notification/execute")).json()["due"] == 0
        assert len((await ana.get("/notification/me")).json()["notifications"]) == 1


@pytest.mark.document("002", "notification")
async def test_a_program_acts_for_the_user_of_its_token(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as http:
        body = {"user": ADA, "text": "bread", "at": "in ten minutes"}
        assert (await http.post("/notification", json=body, headers=bearer(ANYBODY))).status_code == 201
        assert (await http.post("/notification", json={**body, "user": "me"}, headers=bearer(FOR_ADA))).is_success
        assert (await http.post("/notification", json={**body, "user": "bob"}, headers=bearer(FOR_ADA))).is_error
        assert (await http.post("/notification", json={**body, "user": "me"}, headers=bearer(ANYBODY))).is_error
        listed = (await http.get(f"/notification/{ADA}", headers=bearer(FOR_ADA))).json()["notifications"]
        assert len(listed) == 2
        assert (await http.get("/notification/bob", headers=bearer(FOR_ADA))).status_code == 404
        assert (await http.get("/notification/bob", headers=bearer(ANYBODY))).json() == {"notifications": []}
        for name in (ADA, "ada"):  # of another key
            assert (await http.get(f"/notification/{name}", headers=bearer(OF_MILL))).json() == {"notifications": []}
        gone = await http.delete(f"/notification/{ADA}/{listed[0]['id']}", headers=bearer(OF_MILL))
        assert gone.status_code == 404
        assert (await http.get(f"/notification/{ADA}", headers=bearer(STRANGER))).status_code == 403
        at.now[0] += 600
        assert (await http.post("/notification/execute", headers=bearer(OF_MILL))).json()["due"] == 0
        assert (await http.post("/notification/execute", headers=bearer(ANYBODY))).json()["waiting"] == 2
        assert (await http.post("/notification/execute", headers=bearer(ANYBODY))).json()["due"] == 0


async def test_a_program_that_acts_for_a_user_spends_that_users_budget(tmp_path: Path) -> None:
    budgets = {"budgets": {"user": {"kept_kilobytes": 1}}}
    async with server_with_reminders(tmp_path, world_with=budgets) as at, at.here.browser() as http:
        for number in range(6):
            body = {"text": "x" * 200, "at": "in ten minutes", "id": str(number)}
            answer = await http.post("/notification", json=body, headers=bearer(FOR_ADA))
            if answer.status_code != 201:
                break
        assert answer.status_code == 429 and "budget" in answer.text


async def test_an_open_page_receives_shows_and_confirms_a_reminder(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        user = await user_of(browser)
        await at.notifications.dispatcher.notify(user, Notice("n1", "It is done."))
        await browser.post("/notification", json={"text": "bread", "at": "in ten minutes"})
        async with browser.stream("GET", "/api/me/events") as stream:
            lines = stream.aiter_lines()
            first = await event(lines)
            assert first["event"] == "notice" and first["data"]["id"] == "n1"
            at.now[0] += 600
            assert (await browser.post("/notification/execute")).json()["waiting"] == 1
            notice = await event(lines)
            assert notice["event"] == "notice" and notice["data"]["text"] == "A reminder: bread"
            seen = await browser.post(f"/api/me/notices/{notice['data']['id']}/seen")
            assert seen.json() == {"still_waited": True}
            assert (await event(lines))["data"] == {"id": notice["data"]["source"], "event": "delivered", "way": "page"}
        assert (await browser.get("/notification/me")).json() == {"notifications": []}
        assert not (await browser.post(f"/api/me/notices/{notice['data']['id']}/seen")).json()["still_waited"]


async def test_the_number_of_pages_of_a_user_is_limited(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        await user_of(browser)
        reading = []
        async with AsyncExitStack() as stack:
            for _ in range(8):
                opened = await stack.enter_async_context(browser.stream("GET", "/api/me/events"))
                reading.append(opened.aiter_lines())
                assert await anext(reading[-1]) == "retry: 2000"
            assert (await browser.get("/api/me/events")).status_code == 429


async def event(lines: AsyncIterator[str]) -> dict[str, Any]:
    """The next event of a stream."""
    found: dict[str, Any] = {}
    async for line in lines:
        if not line and "data" in found:
            return found
        name, _, value = line.partition(": ")
        if name == "event":
            found["event"] = value
        elif name == "data":
            found["data"] = json.loads(value)
    raise AssertionError("the stream ended")


async def test_a_page_reports_a_reminder_heard_to_its_end_to_the_call(tmp_path: Path) -> None:
    async with server_with_reminders(tmp_path) as at, at.here.browser() as browser:
        body = {"text": "this call is recorded", "at": "in one minute"}
        assert (await browser.post("/notification", json=body | {"interruptible": False})).json()[
            "interruptible"
        ] is False
        assert "interruptible" not in (await browser.post("/notification", json=body)).json()
        arrived: list[NoticeArrived] = []
        user = await user_of(browser)
        subscription = at.notifications.dispatcher.subscribe(
            user, lambda event: arrived.append(event) if isinstance(event, NoticeArrived) else None
        )
        at.now[0] += 61
        await asyncio.gather(browser.post("/notification/execute"), until(lambda: len(arrived) == 2, 10))
        assert sorted(event.interruptible for event in arrived) == [False, True]
        subscription.close()
