"""A session answers to its owner's cookie or to its own token. Everyone else gets what a wrong number gets."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
from websockets.exceptions import ConnectionClosed

from backend.sessions.session import SessionState
from tests.http.world import World, place_call, world

ROUTES = [
    ("GET", "/api/sessions/{id}"),
    ("GET", "/api/sessions/{id}/transcript"),
    ("POST", "/api/sessions/{id}/messages"),
    ("POST", "/api/sessions/{id}/pictures"),
    ("POST", "/api/sessions/{id}/interruptions"),
    ("POST", "/api/sessions/{id}/thinkers/{call_id}/cancel"),
    ("POST", "/api/sessions/{id}/thinkers/{call_id}/say"),
    ("DELETE", "/api/sessions/{id}"),
    ("GET", "/api/events/{id}"),
    ("GET", "/api/events/{id}/levels"),
    ("POST", "/api/rtc/disconnect"),
]
"""Every route of the core that names a session; a new one belongs here."""
BACKEND = Path(__file__).parents[2] / "backend"
DECLARED = re.compile(r'^@router\.(get|post|patch|delete)\("([^"]*\{session_id\}[^"]*)"', re.M)
ROUTES += [
    (method.upper(), path.replace("{session_id}", "{id}"))
    for file in (BACKEND / "extensions").rglob("*.py")
    for method, path in DECLARED.findall(file.read_text())
]
PICTURE = "data:image/png;base64,iVBORw0KGgo="


def test_the_table_names_every_route_that_names_a_session(tmp_path: Path) -> None:
    schema = [*(BACKEND / "http").glob("*.py"), *(BACKEND / "extensions").rglob("*.py")]
    declared = {
        line.split('"')[1].replace("{session_id}", "{id}")
        for file in schema
        for line in file.read_text().splitlines()
        if line.startswith("@router.") and ("{session_id}" in line or "disconnect" in line)
    }
    elsewhere = {"/ws/{id}", "/api/admin/sessions/{id}"}  # the latter is the operator's: tests/http/test_admin.py
    assert declared - elsewhere == {path for _, path in ROUTES}


async def ask(
    browser: httpx2.AsyncClient, method: str, route: str, session_id: str, **options: object
) -> httpx2.Response:
    fields = {"text": "hello", "picture": PICTURE, "session_id": session_id, "allowed": False, "on": False}
    body = fields if method == "POST" else None
    return await browser.request(method, route.format(id=session_id, call_id="c1"), json=body, **options)  # type: ignore[arg-type]


async def test_a_stranger_gets_the_same_404_as_for_an_unknown_session_on_every_route(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        await place_call(stranger)  # somebody with an identity and a session of their own
        session_id = (await place_call(owner))["session_id"]
        for method, route in ROUTES:
            foreign = await ask(stranger, method, route, session_id)
            unknown = await ask(stranger, method, route, "A" * 22)
            assert (method, route, foreign.status_code) == (method, route, 404)
            assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)
        assert here.calls[session_id].typed == []
        assert here.registry.find(session_id).state is SessionState.LIVE


async def test_no_cookie_or_a_forged_one_or_another_sessions_token_is_a_stranger(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        first, second = await place_call(owner), await place_call(owner)
        cookie = owner.cookies["caller"]
        visitors = [
            {},
            {"cookie": f"caller={cookie[:-2]}xx"},
            {"authorization": f"Bearer {second['token']}"},
            {"authorization": f"Bearer {first['token'][:-2]}xx"},
            {"authorization": f"Bearer {cookie}"},
            {"authorization": "Bearer"},
            {"authorization": f"Basic {first['token']}"},
        ]
        for headers in visitors:
            async with here.browser(headers=headers) as visitor:
                for method, route in ROUTES:
                    assert (await ask(visitor, method, route, first["session_id"])).status_code == 404, (headers, route)


async def test_the_token_alone_opens_every_route_of_its_session(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        for method, route in ROUTES:
            call = await place_call(owner)
            headers = {"authorization": f"Bearer {call['token']}"}
            if "events" in route:
                await here.registry.end(here.registry.find(call["session_id"]), "error")
            if "disconnect" in route:
                continue  # its token stands in the body: test_signalling
            async with here.browser(headers=headers) as program:
                response = await ask(program, method, route, call["session_id"])
                assert response.status_code in (200, 202, 204), (route, response.text)


async def test_a_token_in_the_query_opens_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as program:
        call = await place_call(owner)
        session_id, query = call["session_id"], {"token": call["token"]}
        assert (await program.get(f"/api/sessions/{session_id}", params=query)).status_code == 404
        assert (await program.delete(f"/api/sessions/{session_id}", params=query)).status_code == 404
        assert (await program.get(f"/api/events/{session_id}", params=query)).status_code == 404


async def close_code(
    here: World, path: str, headers: dict[str, str] | None = None, token: str = "a stranger's"
) -> int | None:
    async with await here.socket(path, token, additional_headers=headers) as websocket:
        try:
            await websocket.recv()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None
    return 0


async def test_a_socket_of_a_stranger_is_closed_with_4404_like_one_to_nowhere(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        mine = (await owner.post("/api/sessions")).json()
        theirs = (await stranger.post("/api/sessions")).json()
        path = f"/ws/{mine['session_id']}"
        assert await close_code(here, path) == 4404
        assert await close_code(here, f"/ws/{'A' * 22}") == 4404
        assert await close_code(here, path, token=theirs["token"]) == 4404
        assert await close_code(here, path, {"cookie": f"caller={stranger.cookies['caller']}"}) == 4404
        assert here.registry.find(mine["session_id"]).state is SessionState.RESERVED


async def test_the_list_shows_the_callers_own_sessions_newest_first(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        await place_call(stranger)
        placed = [(await place_call(owner))["session_id"] for _ in range(2)]
        listed = (await owner.get("/api/sessions")).json()["sessions"]
        assert [session["session_id"] for session in listed] == placed[::-1]
        async with here.browser() as newcomer:
            assert (await newcomer.get("/api/sessions")).json() == {"sessions": []}
