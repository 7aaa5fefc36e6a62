"""The origins of pages that may use this server."""

from pathlib import Path

import pytest

from backend.http.origins import same_host
from tests.http.world import SDP, Browser, World, world

FOREIGN = "https://evil.example"
FRIEND = "https://voice.example.com"


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("https://voice.example.com", "voice.example.com", True),
        ("https://voice.example.com", "voice.example.com:443", True),
        ("https://voice.example.com:443", "voice.example.com", True),
        ("https://VOICE.example.com", "voice.EXAMPLE.com", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost:8000", "localhost:8001", False),
        ("http://localhost", "localhost:8000", False),
        ("https://voice.example.com.evil.example", "voice.example.com", False),
        ("https://evil.example", "voice.example.com", False),
        ("https://voice.example.com@evil.example", "voice.example.com", False),
        ("null", "voice.example.com", False),
        ("null", "", False),
        ("", "", False),
        ("file://", "localhost", False),
        ("chrome-extension://abc", "abc", False),
        ("https://[oops", "oops", False),
        ("http://localhost:notaport", "localhost", False),
    ],
)
def test_a_page_is_ours_if_its_host_and_port_are(origin: str, host: str, same: bool) -> None:
    assert same_host(origin, host) is same


async def test_our_own_page_and_programs_without_an_origin_are_admitted(here: World, browser: Browser) -> None:
    for headers in ({"origin": here.url}, {}):
        response = await browser.post("/api/rtc/offer", json={"sdp": SDP}, headers=headers)
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers


async def test_files_and_probes_are_served_for_any_origin_without_sharing(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser(headers={"origin": FOREIGN}) as browser:
        for path in ("/", "/app.js", "/healthz"):
            response = await browser.get(path)
            assert response.status_code == 200
            assert "access-control-allow-origin" not in response.headers
            assert response.headers["cross-origin-resource-policy"] == "same-origin"


async def test_the_preflight_of_a_foreign_page_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path, allowed_origins=[FRIEND]) as here, here.browser() as browser:
        asking = {"origin": FOREIGN, "access-control-request-method": "POST"}
        response = await browser.options("/api/rtc/offer", headers=asking)
        assert response.status_code == 403
        assert not [name for name in response.headers if name.startswith("access-control")]


async def test_an_allowed_page_passes_its_preflight_and_may_send_cookies(tmp_path: Path) -> None:
    async with world(tmp_path, allowed_origins=[FRIEND]) as here, here.browser(headers={"origin": FRIEND}) as browser:
        preflight = await browser.options("/api/rtc/offer", headers={"access-control-request-method": "POST"})
        assert preflight.status_code == 204
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert "Content-Type" in preflight.headers["access-control-allow-headers"]
        for response in (
            preflight,
            await browser.post("/api/rtc/offer", json={"sdp": SDP}),
            await browser.get("/nowhere"),
        ):
            assert response.headers["access-control-allow-origin"] == FRIEND
            assert response.headers["access-control-allow-credentials"] == "true"
            assert response.headers["vary"] == "Origin"
