"""Cookies can be revoked, are void after an erasure, and are bound to this host over TLS."""

import asyncio
from pathlib import Path

from fakeredis import FakeAsyncRedis, FakeServer
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from backend.access.access import Access
from backend.access.credentials import OIDC_USER, Signatures
from backend.access.store import CACHED_S, AccessStore
from backend.app.extensions import installed
from backend.http.app import ROUTES
from backend.http.context import require_certainty
from backend.http.page_streams import PageStreams
from backend.testing.memory import FakeMemory
from tests.http.test_keys import keyed, shown, token
from tests.http.world import Browser, World, message_of, place_call, world

PROXIED = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}


async def test_an_erasure_voids_and_deletes_the_cookie(here: World, browser: Browser) -> None:
    owner = here.registry.find((await place_call(browser))["session_id"]).owner
    kept = browser.cookies["caller"]
    erased = await browser.delete("/api/me")
    assert erased.status_code == 200 and "caller" not in browser.cookies
    async with here.browser(headers={"cookie": f"caller={kept}"}) as thief:
        call = await place_call(thief)
        assert here.registry.find(call["session_id"]).owner != owner
        assert "caller" in thief.cookies, "the thief got no new identity"


async def test_a_revocation_reaches_other_processes_when_their_cache_expires() -> None:
    redis, now = FakeMemory()._client.redis, [0.0]
    here, there = (AccessStore(redis, lambda: now[0]) for _ in range(2))
    assert await there.epoch("ada") == 0
    await here.revoke("ada")
    assert await here.epoch("ada") == 1
    assert await there.epoch("ada") == 0, "the cached epoch was not used"
    now[0] += CACHED_S
    assert await there.epoch("ada") == 1


def away() -> FakeAsyncRedis:
    """Return a Redis that does not answer."""
    server = FakeServer()
    server.connected = False
    return FakeAsyncRedis(server=server)


async def test_visitors_keep_their_identity_while_redis_is_away(tmp_path: Path) -> None:
    async with world(tmp_path, services_with={"access_store": AccessStore(away())}) as here, here.browser() as browser:
        cookie = Signatures(b"k" * 32, token_age_s=60).cookie("ada", epoch=3)
        browser.cookies.set("caller", cookie)
        call = await place_call(browser)
        assert here.registry.find(call["session_id"]).owner == "ada"
        assert browser.cookies["caller"] == cookie


KEPT = [
    ("GET", "/api/conversations"),
    ("GET", "/api/conversations/c1"),
    ("GET", "/api/conversations/c1/export"),
    ("DELETE", "/api/conversations/c1"),
    ("GET", "/api/me/export"),
    ("DELETE", "/api/me"),
]


async def test_what_is_kept_is_closed_while_it_cannot_be_read_which_cookies_are_void(tmp_path: Path) -> None:
    server, now = FakeServer(), [0.0]
    services = {"access_store": AccessStore(FakeAsyncRedis(server=server), lambda: now[0])}
    visitor = {"cookie": f"caller={Signatures(b'k' * 32, token_age_s=60).cookie('ada')}"}
    program = shown(token("call", "chat", "memory"))
    async with keyed(tmp_path, "open", "key", services_with=services, scenes=[["One."], ["Two."]]) as here:
        async with here.browser() as known:
            for credential in (visitor, program):  # this process has seen both before
                assert (await known.get("/api/me/export", headers=credential)).status_code == 200
        server.connected, now[0] = False, CACHED_S
        for credential in (visitor, program):
            async with here.browser(headers=credential) as browser:
                for method, path in KEPT:
                    refused = await browser.request(method, path)
                    assert refused.status_code == 503 and "checked" in message_of(refused), path
                assert (await browser.post("/api/multiturn", json={"message": "Hello."})).status_code == 200
                call = await place_call(browser)
                deleted = await browser.delete(f"/api/sessions/{call['session_id']}")
                assert deleted.status_code == 503, "the call ends, but its conversation stays"


CALLS, IN_REDIS = "calls and turns go on", "its data is in the same Redis, which does not answer"
NO_COOKIE = "no cookie opens it"
GOES_ON = {
    **dict.fromkeys(("/api/rtc", "/api/sessions", "/api/events", "/ws", "/api/rtvi", "/v1"), CALLS),
    **dict.fromkeys(("/api/multiturn", "/api/singleturn", "/api/tools", "/api/reasoning", "/embedding"), CALLS),
    "/api/conversations/{conversation_id}/cancel": CALLS,
    **dict.fromkeys(("/api/tasks", "/api/input", "/api/status", "/notification", "/api/confirmations"), IN_REDIS),
    **dict.fromkeys(("/api/me", "/mode", "/auth/login", "/auth/callback", "/auth/logout"), IN_REDIS),
    **dict.fromkeys(("/api/config", "/healthz", "/readyz", "/metrics", "/api/shared", "/shared"), NO_COOKIE),
    **dict.fromkeys(("/twilio", "/telnyx", "/plivo"), NO_COOKIE),
    "/api/admin": "no cookie makes an operator then",
}
"""Paths that believe a cookie although it may be void, and why that is harmless."""
ALWAYS_SURE = {"/api/me/export"}


def test_every_other_route_asks_if_the_cookie_may_be_void() -> None:
    routers = (*(module.router for module in ROUTES), *installed().joined.routers)
    for route in (each for router in routers for each in router.routes if isinstance(each, APIRoute)):
        asks, path = require_certainty in called_for(route.dependant), route.path
        reason = next((why for prefix, why in GOES_ON.items() if path == prefix or path.startswith(f"{prefix}/")), "")
        assert asks or (reason and path not in ALWAYS_SURE), path


def called_for(dependant: Dependant) -> set[object]:
    """The functions that a route depends on."""
    return {dependant.call} | {call for each in dependant.dependencies for call in called_for(each)}


async def test_no_cookie_makes_an_operator_while_redis_is_away(tmp_path: Path) -> None:
    cookie = Signatures(b"k" * 32, token_age_s=60).cookie(f"{OIDC_USER}ada", epoch=3, admin=True, life_s=60)
    statuses = []
    there = AccessStore(FakeAsyncRedis())
    for _ in range(3):
        await there.revoke(f"{OIDC_USER}ada")
    for store in (there, AccessStore(away())):
        services = {"access_store": store, "access": Access(frozenset({"oidc"}))}
        async with world(tmp_path, services_with=services, access=["oidc"]) as here, here.browser() as them:
            them.cookies.set("caller", cookie)
            statuses.append((await them.get("/api/admin/overview")).status_code)
    assert statuses == [200, 401]


async def test_the_cookie_is_bound_to_this_host_over_tls(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser(headers=PROXIED) as browser:
        answer = await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\n"})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-caller=") and "; Secure" in cookie and "; Path=/;" in cookie
        assert "omain" not in cookie
        value = cookie.partition("=")[2].partition(";")[0]
        sessions = []
        for name in ("__Host-caller", "caller"):
            listed = await browser.get("/api/sessions", headers={"cookie": f"{name}={value}"})
            sessions.append(len(listed.json()["sessions"]))
        assert sessions == [1, 0], "a cookie that another host of the domain could have set was read"


async def test_a_stream_ends_when_its_cookie_is_revoked(tmp_path: Path) -> None:
    store = AccessStore(FakeAsyncRedis(), lambda: 0.0)
    services = {"access_store": store, "pages": PageStreams()}
    async with world(tmp_path, heartbeat_s=0.02, services_with=services) as here, here.browser() as browser:
        owner = here.registry.find((await place_call(browser))["session_id"]).owner
        async with browser.stream("GET", "/api/me/events") as stream, asyncio.timeout(20):
            lines = stream.aiter_lines()
            assert await anext(lines) == "retry: 2000"
            await store.revoke(owner)
            assert {line async for line in lines} <= {"", ": still here"}
