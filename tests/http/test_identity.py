"""A cookie names the user, and a fingerprint may restore a lost identity."""

from http.cookies import Morsel, SimpleCookie
from pathlib import Path

import httpx2
import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from backend.access.store import AccessStore
from tests.http.world import FINGERPRINT, SDP, Browser, World, place_call, world


def cookie_of(response: httpx2.Response) -> Morsel[str] | None:
    """Return the cookie that the answer sets, if any."""
    jar: SimpleCookie = SimpleCookie()
    for header in response.headers.get_list("set-cookie"):
        jar.load(header)
    return jar.get("caller") or jar.get("__Host-caller")


def user_of(here: World, session_id: str) -> str:
    return here.registry.find(session_id).owner


async def test_the_first_request_to_page_or_api_sets_an_identity(here: World) -> None:
    for path in ("/", "/api/config", "/api/sessions", "/api/sessions/unknown"):
        async with here.browser() as browser:
            cookie = cookie_of(await browser.get(path))
            assert cookie is not None, path
            assert (cookie["path"], cookie["samesite"], cookie["secure"]) == ("/", "Lax", "")
            assert cookie["httponly"] is True
            assert int(cookie["max-age"]) > 300 * 86_400


async def test_a_returning_visitor_keeps_their_identity_without_a_new_cookie(here: World, browser: Browser) -> None:
    await browser.get("/")
    first = await place_call(browser)
    assert cookie_of(await browser.get("/api/config")) is None
    second = await place_call(browser)
    assert user_of(here, first["session_id"]) == user_of(here, second["session_id"])


async def test_a_tampered_cookie_is_replaced_by_a_new_identity(here: World, browser: Browser) -> None:
    first = await place_call(browser)
    forged = browser.cookies["caller"][:-8] + 8 * "_"
    async with here.browser(headers={"cookie": f"caller={forged}"}) as forger:
        response = await forger.post("/api/rtc/offer", json={"sdp": SDP})
        assert cookie_of(response) is not None
        assert user_of(here, response.json()["session_id"]) != user_of(here, first["session_id"])


async def test_probes_and_files_set_no_identity(browser: Browser) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/app.js"):
        assert cookie_of(await browser.get(path)) is None, path


@pytest.mark.document("001", "user context")
@pytest.mark.parametrize("by_fingerprint", [False, True])
async def test_a_fingerprint_restores_a_lost_identity_only_if_set_so_and_never_overrides_a_cookie(
    tmp_path: Path, by_fingerprint: bool
) -> None:
    async with world(tmp_path, identify_by_fingerprint=by_fingerprint) as here:
        users = []
        for _ in range(2):
            async with here.browser() as browser:
                await browser.get("/")  # a page that loads before it calls, as browsers do
                for fingerprint in (FINGERPRINT.upper(), "cd" * 32):
                    call = await place_call(browser, fingerprint=fingerprint)
                    users.append(user_of(here, call["session_id"]))
                    assert (await browser.get(f"/api/sessions/{call['session_id']}")).status_code == 200
        assert users[0] == users[1] and users[2] == users[3]
        assert (users[0] == users[2]) is by_fingerprint and FINGERPRINT not in users[0]


async def test_a_fingerprint_has_64_hexadecimal_digits(here: World, browser: Browser) -> None:
    for fingerprint in ("ab" * 31, "ab" * 33, "xy" * 32, "ab" * 32 + "\n", 7):
        body = {"sdp": SDP, "fingerprint": fingerprint}
        assert (await browser.post("/api/rtc/offer", json=body)).status_code == 422, fingerprint
        assert (await browser.post("/api/sessions", json={"fingerprint": fingerprint})).status_code == 422
    assert here.registry.live == 0


async def background_work(here: World) -> None:
    """Wait for the work after an answer: another request is served after it."""
    async with here.browser() as browser:
        await browser.get("/healthz")


async def test_a_user_has_the_time_zone_of_their_browser_until_they_state_one(here: World, browser: Browser) -> None:
    async def zone_of(user: str) -> object:
        await background_work(here)
        return (await here.memory.user_context(user)).get("preferences", {}).get("time_zone")

    user = user_of(here, (await place_call(browser, time_zone="Nowhere/Atlantis"))["session_id"])
    assert await zone_of(user) is None
    await browser.post("/api/sessions", json={"time_zone": "Asia/Tokyo"})
    assert await zone_of(user) == "Asia/Tokyo"
    stated = {"op": "set_preference", "name": "time_zone", "value": "Europe/Oslo"}
    assert (await browser.patch("/api/me", json={"changes": [stated]})).status_code == 200
    await browser.post("/api/sessions", json={"time_zone": "Asia/Tokyo"})
    assert await zone_of(user) == "Europe/Oslo"


async def test_a_fingerprint_restores_no_user_with_revoked_cookies_and_none_without_redis(tmp_path: Path) -> None:
    server = FakeServer()
    store = AccessStore(FakeAsyncRedis(server=server), lambda: 0.0)
    async with world(tmp_path, identify_by_fingerprint=True, services_with={"access_store": store}) as here:

        async def caller() -> str:
            async with here.browser() as browser:
                return user_of(here, (await place_call(browser, fingerprint=FINGERPRINT))["session_id"])

        first = await caller()
        await store.revoke(first)
        users = {await caller(), await caller()}
        server.connected = False
        assert len(users | {first, await caller()}) == 4
