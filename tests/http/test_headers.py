"""Every answer has security headers, also errors and streams."""

from pathlib import Path

import pytest

from backend.errors import BadOffer
from backend.http.admission import GRANTS
from backend.http.headers import content_security_policy
from tests.http.world import SDP, Browser, place_call, world

EXPECTED = {
    "content-security-policy",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
    "permissions-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "cache-control",
}


def test_the_content_security_policy_allows_only_the_files_of_the_page() -> None:
    policy = content_security_policy("voice.example.com", https=True)
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "media-src": "'self'",
        "connect-src": "'self' wss://voice.example.com",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert "ws://127.0.0.1:8000" in content_security_policy("127.0.0.1:8000", https=False)
    assert "ws://[::1]:8000" in content_security_policy("[::1]:8000", https=False)


@pytest.mark.parametrize("host", ["x; script-src *", "x y", "", "evil'", "a,b", "x\nset-cookie: a", "[::1", "x:999999"])
def test_an_invalid_host_is_not_repeated_in_the_policy(host: str) -> None:
    assert "connect-src 'self';" in content_security_policy(host, https=False)


async def test_every_answer_has_security_headers(tmp_path: Path) -> None:
    async def accept(sdp: str) -> None:
        if sdp == "bad":
            raise BadOffer("No.")
        if sdp == "boom":
            raise RuntimeError("boom")

    async with world(tmp_path, accept=accept, offers_per_minute=4) as here, here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        big = b"x" * 70_000
        answers = {
            200: await browser.get("/"),
            201: await browser.get("/api/config"),
            202: await browser.get("/metrics"),
            304: await browser.get("/", headers={"if-none-match": (await browser.get("/")).headers["etag"]}),
            403: await browser.get("/api/config", headers={"origin": "https://evil.example"}),
            404: await browser.get("/nowhere"),
            405: await browser.put("/api/config"),
            413: await browser.post("/api/rtc/offer", content=big),
            422: await browser.post("/api/rtc/offer", json={"sdp": "bad"}),
            500: await browser.post("/api/rtc/offer", json={"sdp": "boom"}),
            429: await browser.post("/api/rtc/offer", json={"sdp": SDP}),
        }
        async with browser.stream("GET", f"/api/events/{session_id}") as stream:
            answers[203] = stream
        for status, answer in answers.items():
            assert answer.status_code == (200 if status < 300 else status)
            assert set(answer.headers) >= EXPECTED, (status, EXPECTED - set(answer.headers))
            assert "strict-transport-security" not in answer.headers
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["permissions-policy"].startswith("microphone=(self)")


async def test_answers_over_https_have_strict_transport_security(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser(headers={"x-forwarded-proto": "https"}) as browser:
        headers = (await browser.get("/")).headers
        assert headers["strict-transport-security"].startswith("max-age=")
        assert " wss://" in headers["content-security-policy"]


async def test_answers_of_the_api_are_not_cached_and_files_are_revalidated(
    browser: Browser,
) -> None:
    for path in (path for path, grant in GRANTS.items() if grant is not None):
        assert (await browser.get(path)).headers["cache-control"] == "no-store", path
    assert (await browser.get("/app.js")).headers["cache-control"] == "no-cache"
