"""The owner's cookie or the session's token opens a session; others get the same 404 as for an unknown one."""

import re
from pathlib import Path

import httpx2
from websockets.exceptions import ConnectionClosed

from backend.sessions.session import SessionState
from tests.http.world import World, place_call, world

PICTURE = "data:image/png;base64,iVBORw0KGgo="
Route = tuple[str, str]


async def session_routes(browser: httpx2.AsyncClient) -> list[Route]:
    """Return every route of the OpenAPI document with a session, except those of the operator."""
    paths = (await browser.get("/api/openapi.json")).json()["paths"]
    named = [path for path in paths if "{session_id}" in path and not path.startswith("/api/admin")]
    return [("POST", "/api/rtc/disconnect"), *((method.upper(), path) for path in named for method in paths[path])]


async def ask(browser: httpx2.AsyncClient, route: Route, session_id: str) -> httpx2.Response:
    fields = {"text": "hello", "picture": PICTURE, "session_id": session_id, "allowed": False, "on": False}
    method, path = route
    path = re.sub(r"\{\w+\}", "c1", path.replace("{session_id}", session_id))
    return await browser.request(method, path, json=fields if method == "POST" else None)


async def test_a_stranger_gets_the_404_of_an_unknown_session_on_every_route(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        await place_call(stranger)  # the stranger has an identity and a session, too
        session_id = (await place_call(owner))["session_id"]
        routes = await session_routes(owner)
        assert len(routes) >= 11
        for route in routes:
            foreign = await ask(stranger, route, session_id)
            unknown = await ask(stranger, route, "A" * 22)
            assert (route, foreign.status_code) == (route, 404)
            assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)
        assert here.calls[session_id].typed == []
        assert here.registry.find(session_id).state is SessionState.LIVE


async def test_a_missing_or_forged_cookie_or_the_token_of_another_session_is_refused(tmp_path: Path) -> None:
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
                for route in await session_routes(owner):
                    assert (await ask(visitor, route, first["session_id"])).status_code == 404, (headers, route)


async def test_the_token_alone_opens_every_route_of_its_session(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner:
        for route in (await session_routes(owner))[1:]:  # a hang-up has its token in the body, see test_signalling.py
            call = await place_call(owner)
            headers = {"authorization": f"Bearer {call['token']}"}
            if "events" in route[1]:
                await here.registry.end(here.registry.find(call["session_id"]), "error")
            async with here.browser(headers=headers) as program:
                response = await ask(program, route, call["session_id"])
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


async def test_the_socket_of_a_stranger_is_closed_with_4404_like_one_to_an_unknown_session(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        mine = (await owner.post("/api/sessions")).json()
        theirs = (await stranger.post("/api/sessions")).json()
        path = f"/ws/{mine['session_id']}"
        assert await close_code(here, path) == 4404
        assert await close_code(here, f"/ws/{'A' * 22}") == 4404
        assert await close_code(here, path, token=theirs["token"]) == 4404
        assert await close_code(here, path, {"cookie": f"caller={stranger.cookies['caller']}"}) == 4404
        assert here.registry.find(mine["session_id"]).state is SessionState.RESERVED


async def test_the_list_has_the_sessions_of_the_caller_from_the_newest(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as owner, here.browser() as stranger:
        await place_call(stranger)
        placed = [(await place_call(owner))["session_id"] for _ in range(2)]
        listed = (await owner.get("/api/sessions")).json()["sessions"]
        assert [session["session_id"] for session in listed] == placed[::-1]
        async with here.browser() as newcomer:
            assert (await newcomer.get("/api/sessions")).json() == {"sessions": []}
