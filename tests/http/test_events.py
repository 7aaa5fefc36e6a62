"""The event stream on a real socket: replay, several readers, heartbeat, its end, and its tasks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.sessions.event_log import PageMessage
from backend.sessions.session import Session
from tests.http.world import Browser, World, place_call, world


@asynccontextmanager
async def lines_of(browser: httpx2.AsyncClient, session_id: str, **options: Any) -> AsyncIterator[AsyncIterator[str]]:
    async with browser.stream("GET", f"/api/events/{session_id}", **options) as response:
        assert response.status_code == 200
        yield response.aiter_lines()


async def read_ids(lines: AsyncIterator[str], count: int) -> list[int]:
    """Return the numbers of the next `count` events."""
    ids: list[int] = []
    while len(ids) < count:
        line = await asyncio.wait_for(anext(lines), 20)
        if line.startswith("id: "):
            ids.append(int(line[4:]))
    return ids


async def a_session(here: World, browser: httpx2.AsyncClient, events: int = 0) -> Session:
    session = here.registry.find((await place_call(browser))["session_id"])
    for number in range(1, events + 1):
        session.event_log.append(PageMessage("transcript_delta", {"role": "user", "delta": f"word {number}"}))
    return session


@pytest.mark.document("001", "event stream")
async def test_an_event_has_a_number_a_type_and_json_data(here: World, browser: Browser) -> None:
    session = await a_session(here, browser)
    session.event_log.append(PageMessage("transcript", {"role": "user", "content": "Grüß dich\nund « data: »"}))
    session.event_log.append(PageMessage("floor", {"floor": "user"}))
    async with browser.stream("GET", f"/api/events/{session.id}") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-cache"
        assert response.headers["x-accel-buffering"] == "no"
        text = ""
        async for piece in response.aiter_text():
            text += piece
            if "floor" in text:
                break
    assert text.startswith("retry: 2000\n\n")
    assert 'data: {"role":"user","content":"Grüß dich\\nund « data: »"}\n' in text
    assert "event: transcript\n" in text
    assert "id: 1\n" in text


async def test_a_returning_reader_gets_missed_events_before_new_ones(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=5)
    async with lines_of(browser, session.id, headers={"last-event-id": "3"}) as lines:
        assert await read_ids(lines, 2) == [4, 5]
        session.event_log.append(PageMessage("floor", {"floor": "user"}))
        assert await read_ids(lines, 1) == [6]


async def test_two_readers_have_their_own_places(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=3)
    async with (
        lines_of(browser, session.id) as early,
        lines_of(browser, session.id, headers={"last-event-id": "3"}) as late,
    ):
        session.event_log.append(PageMessage("floor", {"floor": "user"}))
        assert await read_ids(late, 1) == [4]
        assert await read_ids(early, 4) == [1, 2, 3, 4]


async def test_the_header_of_a_reconnecting_browser_overrides_the_query(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=5)
    async with lines_of(browser, session.id, params={"after": "2"}) as lines:
        assert await read_ids(lines, 1) == [3]
    async with lines_of(browser, session.id, params={"after": "2"}, headers={"last-event-id": "4"}) as lines:
        assert await read_ids(lines, 1) == [5]


async def test_an_invalid_or_unknown_event_number_reads_from_the_start(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=2)
    for number in ("99", "garbage", "9" * 400, ""):
        async with lines_of(browser, session.id, headers={"last-event-id": number}) as lines:
            assert await read_ids(lines, 1) == [1]
    assert (await browser.get(f"/api/events/{session.id}?after=-1")).status_code == 422


async def test_a_heartbeat_loses_no_event(tmp_path: Path) -> None:
    async with world(tmp_path, heartbeat_s=0.02) as here, here.browser() as browser:
        session = await a_session(here, browser)
        async with lines_of(browser, session.id) as lines:
            beats = 0
            while beats < 3:
                beats += (await asyncio.wait_for(anext(lines), 20)).startswith(":")
            session.event_log.append(PageMessage("floor", {"floor": "user"}))
            assert await read_ids(lines, 1) == [1]


async def test_the_stream_ends_with_the_session_and_answers_204_afterwards(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=1)
    async with lines_of(browser, session.id) as lines:
        await here.registry.end(session, "idle")
        text = "\n".join([line async for line in lines])
    assert text.count("id: ") == 2
    assert 'event: session_ended\ndata: {"reason":"idle"}' in text
    again = await browser.get(f"/api/events/{session.id}", headers={"last-event-id": "2"})
    assert (again.status_code, again.content) == (204, b"")
    replay = await browser.get(f"/api/events/{session.id}", headers={"last-event-id": "1"})
    assert "session_ended" in replay.text


async def test_readers_that_leave_leave_no_task(here: World, browser: Browser) -> None:
    session = await a_session(here, browser, events=1)
    before = asyncio.all_tasks()
    for _ in range(3):
        async with lines_of(browser, session.id) as lines:
            await read_ids(lines, 1)
    gone = asyncio.all_tasks() - before - {asyncio.current_task()}
    await asyncio.wait_for(asyncio.gather(*gone, return_exceptions=True), 20)
    assert asyncio.all_tasks() <= before


async def test_an_unknown_session_has_no_stream(browser: Browser) -> None:
    response = await browser.get("/api/events/nowhere")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/json"
