"""`ACCESS=key`: the routes that a signed token opens, on a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.access.access import Access
from backend.access.keys import ApiKeys
from backend.access.principal import Grant
from backend.app.extensions import installed
from backend.http.admission import GRANTS, grant_for
from tests.http.world import SDP, World, message_of, world

SECRET = "s" * 32
KEYS = f"shop:{SECRET},mill:{SECRET[:-1]}t"
EVERYTHING = "+".join([*Grant, "tools"])
PAGE = "https://shop.example"
OF_EACH_GRANT = {
    "call": ("GET", "/api/sessions"),
    "chat": ("GET", "/api/conversations"),
    "reason": ("POST", "/api/reasoning"),
    "embed": ("POST", "/embedding"),
    "tasks": ("POST", "/api/tasks"),
    "notify": ("POST", "/notification"),
    "memory": ("GET", "/api/me"),
    "admin": ("GET", "/api/admin/overview"),
}


@asynccontextmanager
async def keyed(directory: Path, *modes: str, **options: Any) -> AsyncIterator[World]:
    """Run a server that admits by keys only, or by `modes`."""
    access = Access(frozenset(modes or ("key",)))  # type: ignore[arg-type]
    options["services_with"] = {"access": access} | options.get("services_with", {})
    keys = {"api_keys": KEYS, "api_key_grants": f"shop:{EVERYTHING},mill:{EVERYTHING}"}
    async with world(directory, access=list(access.modes), **keys | options) as here:
        yield here


def token(*grants: str, key: str = "shop", secret: str = SECRET, **claims: Any) -> str:
    granted = dict.fromkeys(grants, True)
    tools = {"tools": claims.pop("tools")} if "tools" in claims else {}
    return ApiKeys({key: secret}).sign(key, {"sub": "ada", "grants": granted | tools, **claims})


def shown(token: str, origin: str | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} | ({"origin": origin} if origin else {})


async def test_a_grant_opens_only_its_routes(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        for grant in OF_EACH_GRANT:
            async with here.browser(headers=shown(token(grant))) as program:
                for other, (method, path) in OF_EACH_GRANT.items():
                    status = (await program.request(method, path, json={})).status_code
                    assert (status == 403) == (other != grant) and status != 401, (grant, other, status)


async def test_an_invalid_token_is_refused_on_every_route_with_the_reason(tmp_path: Path) -> None:
    forged = ApiKeys({"shop": "x" * 32}).sign("shop", {"sub": "ada", "grants": {"call": True}})
    async with keyed(tmp_path, "key", "open") as here, here.browser(headers=shown(forged)) as program:
        for path in ("/api/me", "/api/config", "/api/sessions"):
            refused = await program.get(path)
            assert refused.status_code == 401 and "signature" in message_of(refused)


async def test_a_token_is_ignored_by_a_server_without_api_keys(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser(headers=shown(token("admin"))) as program:
        assert (await program.get("/api/admin/overview")).status_code == 404


async def test_two_tokens_of_one_user_share_their_data_without_a_cookie(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here, here.browser() as program:
        first = await program.post("/api/sessions", headers=shown(token("call")))
        assert first.status_code == 200 and "set-cookie" not in first.headers
        listed = await program.get("/api/sessions", headers=shown(token("call")))
        assert [each["session_id"] for each in listed.json()["sessions"]] == [first.json()["session_id"]]
        assert here.registry.find(first.json()["session_id"]).owner == "shop.ada"
        other = await program.get("/api/sessions", headers=shown(token("call", sub="bob")))
        assert other.json()["sessions"] == []


async def test_a_token_for_one_conversation_opens_no_other(tmp_path: Path) -> None:
    bound = shown(token("call", "chat", conversation="c1"))
    async with keyed(tmp_path) as here, here.browser(headers=bound) as program:
        call = await program.post("/api/sessions")
        assert call.json()["conversation_id"] == "c1"
        assert (await program.post("/api/sessions", json={"conversation_id": "c2"})).status_code == 403
        assert (await program.post("/api/rtc/offer", json={"sdp": SDP, "conversation_id": "c2"})).status_code == 403
        asked = {"message": "x", "conversation_id": "c2"}
        assert (await program.post("/api/multiturn", json=asked)).status_code == 404
        assert (await program.get("/api/conversations/c2")).status_code == 404


async def test_a_token_for_one_conversation_shows_no_other(tmp_path: Path) -> None:
    bound, free = (shown(token("call", "chat", "tasks", **about)) for about in ({"conversation": "c1"}, {}))
    async with keyed(tmp_path, scenes=["Hello.", "Hello."]) as here, here.browser() as program:
        for named in ("c1", "c2"):
            asked = {"message": "Hello.", "conversation_id": named}
            assert (await program.post("/api/multiturn", headers=free, json=asked)).status_code == 200
        calls = [
            (await program.post("/api/sessions", headers=free, json={"conversation_id": named})).json()["session_id"]
            for named in ("c1", "c2")
        ]
        statuses = [(await program.get(f"/api/sessions/{id_}", headers=bound)).status_code for id_ in calls]
        assert statuses == [200, 404]
        assert (await program.delete(f"/api/sessions/{calls[1]}", headers=bound)).status_code == 404
        listed = (await program.get("/api/sessions", headers=bound)).json()["sessions"]
        assert [each["session_id"] for each in listed] == calls[:1]
        conversations = (await program.get("/api/conversations", headers=bound)).json()["conversations"]
        assert [each["id"] for each in conversations] == ["c1"]
        task = {"instruction": "Research tides.", "conversation_id": "c2"}
        assert (await program.post("/api/tasks", headers=bound, json=task)).status_code == 403


async def test_the_token_of_a_session_opens_no_further_call(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here, here.browser() as program:
        call = (await program.post("/api/sessions", headers=shown(token("call")))).json()
        opened = shown(call["token"])
        assert (await program.get(f"/api/sessions/{call['session_id']}", headers=opened)).status_code == 200
        assert (await program.get("/api/sessions", headers=opened)).json() == {"sessions": []}
        assert (await program.post("/api/sessions", headers=opened)).status_code == 403
        assert (await program.post("/api/rtc/offer", headers=opened, json={"sdp": SDP})).status_code == 403


async def test_a_foreign_page_is_served_for_a_token_that_claims_its_origin(tmp_path: Path) -> None:
    mine = token("call", origin=PAGE)
    async with keyed(tmp_path) as here, here.browser() as page:
        asked = {"origin": PAGE, "access-control-request-method": "POST"}
        preflight = await page.options("/api/sessions", headers=asked)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == PAGE
        assert "access-control-allow-credentials" not in preflight.headers
        call = await page.post("/api/sessions", headers=shown(mine, PAGE))
        assert call.status_code == 200
        assert call.headers["access-control-allow-origin"] == PAGE
        session = f"/api/sessions/{call.json()['session_id']}"
        assert (await page.get(session, headers=shown(call.json()["token"], PAGE))).status_code == 200
        for stolen in (mine, call.json()["token"]):
            for origin in ("https://evil.example", None):
                assert (await page.get(session, headers=shown(stolen, origin))).status_code == 403


async def test_a_foreign_page_is_refused_without_such_a_token(tmp_path: Path) -> None:
    async with keyed(tmp_path, "key", "open") as here, here.browser() as page:
        for headers in ({"origin": PAGE}, shown(token("call"), PAGE), shown("eyJhbGciOi.e30.x", PAGE)):
            refused = await page.post("/api/sessions", headers=headers)
            assert refused.status_code == 403
            assert "access-control-allow-origin" not in refused.headers


EVERY = {**GRANTS, **installed().joined.grants}


def test_every_route_is_in_the_table_of_grants(app_routes: list[str]) -> None:
    assert [path for path in app_routes if grant_for(path, EVERY)[0] == "/" and path != "/"] == []


def test_the_table_names_no_route_that_does_not_exist(app_routes: list[str]) -> None:
    used = {grant_for(path, EVERY)[0] for path in app_routes} | {"/"}
    assert set(EVERY) - used - {"/api/confirmations"} == set()


@pytest.mark.parametrize("path", ["/api/metrics2", "/api/adminx", "/apix", "/wsx"])
def test_a_prefix_ends_at_a_slash(path: str) -> None:
    assert grant_for(path)[0] == "/"


@pytest.fixture
async def app_routes(tmp_path: Path) -> list[str]:
    """The paths of every route, WebSocket, stream and MCP endpoint of a server with all of them."""
    from backend.app.mcp import served_tools
    from backend.http.app import build_app
    from backend.tools.registry import Registry
    from tests.http.world import settings_with
    from tests.support.services import services_of

    settings = settings_with(data_dir=tmp_path, secret_key="k" * 32)
    async with served_tools(Registry([], {}), keyed=True) as endpoints:
        services = services_of(settings=settings, frontend=tmp_path, endpoints=endpoints)
        app = build_app(services, installed().joined)
    return [str(getattr(route, "path", "")) for route in app.router.routes if getattr(route, "path", "")]
