"""Cookies can be revoked, are void after an erasure, and over TLS belong to this very host."""

from __future__ import annotations

from pathlib import Path

from backend.access.store import CACHED_S, AccessStore
from backend.testing.memory import FakeMemory
from tests.http.world import place_call, world

PROXIED = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}


async def test_after_an_erasure_the_cookie_is_void_and_dropped(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser:
        owner = here.registry.find((await place_call(browser))["session_id"]).owner
        kept = browser.cookies["caller"]
        erased = await browser.delete("/api/me")
        assert erased.status_code == 200 and "caller" not in browser.cookies
        async with here.browser(headers={"cookie": f"caller={kept}"}) as thief:
            call = await place_call(thief)
            assert here.registry.find(call["session_id"]).owner != owner
            assert "caller" in thief.cookies, "somebody new"


async def test_a_revocation_reaches_the_other_processes_within_seconds() -> None:
    redis, now = FakeMemory()._client.redis, [0.0]
    here, there = (AccessStore(redis, lambda: now[0]) for _ in range(2))
    assert await there.epoch("ada") == 0
    await here.revoke("ada")
    assert await here.epoch("ada") == 1
    assert await there.epoch("ada") == 0, "looked up a moment ago"
    now[0] += CACHED_S
    assert await there.epoch("ada") == 1


async def test_over_tls_the_cookie_belongs_to_this_host(tmp_path: Path) -> None:
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
        assert sessions == [1, 0], "a cookie that another host of the domain could have set is not looked at"
