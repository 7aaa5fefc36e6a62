"""One-time tickets open event streams where a browser can choose nothing but the address."""

from __future__ import annotations

from pathlib import Path

from backend.access.store import TICKET_LIFE_S, AccessStore
from backend.testing.memory import FakeMemory, age
from tests.http.test_keys import PAGE, keyed, shown, token
from tests.http.world import World, place_call, world


async def ticket_of(here: World, headers: dict[str, str], session_id: str | None) -> str:
    async with here.browser(headers=headers) as program:
        made = await program.post("/api/tickets", json={"session_id": session_id})
        assert made.status_code == 200, made.text
        assert made.json()["expires_in_s"] == TICKET_LIFE_S
        return str(made.json()["ticket"])


async def status_of(here: World, path: str, ticket: str, origin: str | None = None) -> int:
    async with (
        here.browser(headers={"origin": origin} if origin else {}) as stranger,
        stranger.stream("GET", path, params={"ticket": ticket}) as answer,
    ):
        return int(answer.status_code)


async def test_a_ticket_opens_its_sessions_stream_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        call, other = await place_call(owner), await place_call(owner)
        ticket = await ticket_of(here, shown(call["token"]), call["session_id"])
        assert await status_of(here, f"/api/events/{call['session_id']}", ticket) == 200
        assert await status_of(here, f"/api/events/{call['session_id']}", ticket) == 401
        ticket = await ticket_of(here, shown(call["token"]), call["session_id"])
        assert await status_of(here, f"/api/events/{other['session_id']}", ticket) == 404


async def test_a_ticket_opens_streams_only(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        call = await place_call(owner)
        ticket = await ticket_of(here, shown(call["token"]), call["session_id"])
        opened = await stranger.get(f"/api/sessions/{call['session_id']}", params={"ticket": ticket})
        assert opened.status_code == 404


async def test_nobody_gets_a_ticket_for_anothers_session(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        call = await place_call(owner)
        refused = await stranger.post("/api/tickets", json={"session_id": call["session_id"]})
        assert refused.status_code == 404


async def test_a_sessions_token_gets_no_ticket_for_its_owners_events(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        call = await place_call(owner)
        ticket = await ticket_of(here, shown(call["token"]), None)
        assert await status_of(here, "/api/me/events", ticket) == 403


async def test_a_page_of_another_site_opens_a_stream_by_a_ticket_for_its_origin(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here, here.browser() as page:
        headers = shown(token("call", origin=PAGE), PAGE)
        call = (await page.post("/api/sessions", headers=headers)).json()
        path = f"/api/events/{call['session_id']}"
        ticket = await ticket_of(here, headers, call["session_id"])
        assert await status_of(here, path, ticket, "https://evil.example") == 403
        ticket = await ticket_of(here, headers, call["session_id"])
        assert await status_of(here, path, ticket, PAGE) == 200
        async with await here.socket(f"/ws/{call['session_id']}", call["token"], origin=PAGE) as websocket:
            await websocket.send(b"hello")
            assert await websocket.recv() == b"hello"


async def test_a_ticket_lives_for_half_a_minute() -> None:
    redis = FakeMemory()._client.redis
    store = AccessStore(redis)
    ticket = await store.put_ticket(b"content")
    await age(redis, TICKET_LIFE_S + 1)
    assert await store.take_ticket(ticket) is None


async def test_every_process_takes_a_ticket_and_only_one_gets_it() -> None:
    redis = FakeMemory()._client.redis
    ticket = await AccessStore(redis).put_ticket(b"content")
    assert [await AccessStore(redis).take_ticket(ticket) for _ in range(2)] == [b"content", None]
