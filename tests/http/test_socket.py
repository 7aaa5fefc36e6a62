"""The WebSocket route: who may connect, how often, and when it closes."""

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from backend.sessions.session import SessionState
from tests.http.test_ownership import close_code
from tests.http.world import Browser, World, world


@pytest.mark.document("001", "hang-up and WebSocket")
async def test_a_socket_carries_its_session_until_the_hang_up(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    session = here.registry.find(opened["session_id"])
    async with await here.socket(f"/ws/{session.id}", opened["token"]) as websocket:
        await websocket.send(b"\x01\x02")
        assert await asyncio.wait_for(websocket.recv(), 20) == b"\x01\x02"
        assert (session.state, session.transport) == (SessionState.LIVE, "websocket")
        await browser.post("/api/rtc/disconnect", json={"session_id": session.id})
        with pytest.raises(ConnectionClosed) as closed:
            await asyncio.wait_for(websocket.recv(), 20)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000


async def test_a_caller_who_leaves_ends_the_session(tmp_path: Path) -> None:
    async with world(tmp_path, session_cap=1) as here, here.browser() as browser:
        opened = (await browser.post("/api/sessions")).json()
        session = here.registry.find(opened["session_id"])
        async with await here.socket(f"/ws/{session.id}", opened["token"]) as websocket:
            await websocket.send(b"hello")
            await websocket.recv()
        await asyncio.wait_for(here.registry.wait(session), 20)
        assert (session.state, session.ended_reason) == (SessionState.ENDED, "disconnected")
        assert (await browser.post("/api/sessions")).status_code == 200


async def test_a_second_socket_of_a_session_is_closed_with_4409(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    path = f"/ws/{opened['session_id']}"
    async with await here.socket(path, opened["token"]) as first:
        assert await close_code(here, path, token=opened["token"]) == 4409
        await first.send(b"still here")
        assert await asyncio.wait_for(first.recv(), 20) == b"still here"


async def ask(websocket: ClientConnection) -> str | bytes:
    await websocket.send(b"mine?")
    return await asyncio.wait_for(websocket.recv(), 20)


async def test_a_socket_without_a_token_as_first_message_is_closed_with_4404(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    for words in ("", "null", '{"type":"token"}', '{"type":"token","more":' + "[" * 60_000):
        async with await here.socket(f"/ws/{opened['session_id']}") as websocket:
            await websocket.send(words)
            with pytest.raises(ConnectionClosed) as closed:
                await asyncio.wait_for(websocket.recv(), 20)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4404, words[:30]


async def test_one_of_several_parallel_sockets_gets_the_session(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    path = f"/ws/{opened['session_id']}"
    sockets = await asyncio.gather(*(here.socket(path, opened["token"]) for _ in range(5)))
    try:
        answers = await asyncio.gather(*(ask(websocket) for websocket in sockets), return_exceptions=True)
    finally:
        await asyncio.gather(*(websocket.close() for websocket in sockets))
    assert answers.count(b"mine?") == 1
    codes = [answer.rcvd.code for answer in answers if isinstance(answer, ConnectionClosed) and answer.rcvd]
    assert codes == [4409] * 4


async def test_the_socket_of_an_ended_session_is_closed_with_4404(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    await here.registry.end(here.registry.find(opened["session_id"]), "never_connected")
    assert await close_code(here, f"/ws/{opened['session_id']}", token=opened["token"]) == 4404


async def test_a_foreign_page_gets_no_socket_even_with_the_cookie_of_the_owner(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    headers = {"cookie": f"caller={browser.cookies['caller']}"}
    with pytest.raises(InvalidStatus) as refused:
        await here.socket(f"/ws/{opened['session_id']}", additional_headers=headers, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    async with await here.socket(
        f"/ws/{opened['session_id']}", additional_headers=headers, origin=here.url
    ) as websocket:
        await websocket.send(b"own page")
        assert await asyncio.wait_for(websocket.recv(), 20) == b"own page"


async def test_a_token_in_the_address_of_a_socket_is_ignored(here: World, browser: Browser) -> None:
    opened = (await browser.post("/api/sessions")).json()
    assert await close_code(here, f"/ws/{opened['session_id']}?token={opened['token']}") == 4404


async def test_a_socket_without_a_token_is_closed_after_a_time_limit(
    here: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.http.calls.TOKEN_WITHIN_S", 0.2)
    opened = (await browser.post("/api/sessions")).json()
    assert await close_code(here, f"/ws/{opened['session_id']}", token="") == 4404
