"""Offers and hang-ups on a real socket: refusals, limits, and slots that are always freed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backend.errors import BadOffer, ResponderRejected, TooMany
from backend.http.bodies import BODY_LIMIT
from backend.sessions import registry as placing
from backend.sessions.session import SessionState
from tests.http.world import SDP, Browser, World, message_of, place_call, world


@pytest.mark.document("001", "offer and page")
async def test_an_offer_is_answered_and_the_call_runs(here: World, browser: Browser) -> None:
    answer = await place_call(browser)
    assert set(answer) == {"sdp", "session_id", "conversation_id", "token"}
    assert answer["sdp"] == f"answer to {SDP}"
    session = here.registry.find(answer["session_id"])
    assert (session.state, session.transport) == (SessionState.LIVE, "webrtc")


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (BadOffer("There is no audio section."), 422, None),
        (TooMany("No port is free.", retry_after_s=7), 429, "7"),
        (ResponderRejected("The key is refused."), 503, None),
        (RuntimeError("a secret detail"), 500, None),
    ],
)
async def test_any_failure_of_an_offer_frees_its_slot(
    tmp_path: Path, error: Exception, status: int, retry_after: str | None
) -> None:
    async def fail(_sdp: str) -> None:
        raise error

    async with world(tmp_path, accept=fail, session_cap=1) as here, here.browser() as browser:
        response = await browser.post("/api/rtc/offer", json={"sdp": SDP})
        assert response.status_code == status
        assert response.headers.get("retry-after") == retry_after
        assert "secret" not in response.text
        assert here.registry.live == 0


async def test_an_offer_that_takes_too_long_answers_503_and_frees_its_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "ANSWER_WITHIN_S", 0.05)

    async def stall(_sdp: str) -> None:
        await asyncio.Event().wait()

    async with world(tmp_path, accept=stall) as here, here.browser() as browser:
        response = await browser.post("/api/rtc/offer", json={"sdp": SDP})
        assert response.status_code == 503
        assert here.registry.live == 0


async def test_a_caller_who_leaves_before_the_answer_frees_the_slot_and_the_line(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_sdp: str) -> None:
        begun.set()
        await go_on.wait()

    async with world(tmp_path, accept=wait) as here:
        async with here.browser() as browser:
            asking = asyncio.create_task(browser.post("/api/rtc/offer", json={"sdp": SDP}))
            await begun.wait()
            assert here.registry.live == 1
            asking.cancel()
            await asyncio.wait([asking])
        async with here.browser() as other:  # after its round trip the server has seen the first one close
            await other.get("/healthz")
        go_on.set()
        await asyncio.wait_for(here.lines[0].gone.wait(), 20)
        assert here.registry.live == 0
        assert here.calls == {}


async def test_an_offer_over_the_cap_answers_429_until_a_slot_is_free(tmp_path: Path) -> None:
    async with world(tmp_path, session_cap=1) as here, here.browser() as browser:
        first = await place_call(browser)
        response = await browser.post("/api/rtc/offer", json={"sdp": SDP})
        assert response.status_code == 429
        assert response.headers["retry-after"] == "15"
        assert message_of(response)
        assert (await browser.post("/api/sessions")).status_code == 429
        await browser.post("/api/rtc/disconnect", json={"session_id": first["session_id"]})
        await place_call(browser)


async def test_a_flood_of_offers_from_an_address_answers_429_for_a_while(tmp_path: Path) -> None:
    async with world(tmp_path, offers_per_minute=6) as here, here.browser() as browser:
        statuses = [(await offer_from(here, "203.0.113.1")) for _ in range(8)]
        assert statuses == [200] * 6 + [429] * 2
        assert await offer_from(here, "203.0.113.2") == 200
        response = await browser.post("/api/sessions", headers={"x-forwarded-for": "203.0.113.1"})
        assert (response.status_code, response.headers["retry-after"]) == (429, "10")
        here.now[0] += 10
        assert await offer_from(here, "203.0.113.1") == 200


async def offer_from(here: World, address: str) -> int:
    async with here.browser(headers={"x-forwarded-for": address}) as browser:
        return (await browser.post("/api/rtc/offer", json={"sdp": SDP})).status_code


async def test_a_body_of_64_kb_is_read_and_a_larger_one_answers_413(browser: Browser) -> None:
    frame = len(b'{"sdp":""}')
    fits = b'{"sdp":"' + b"v" * (BODY_LIMIT - frame) + b'"}'
    assert (await browser.post("/api/rtc/offer", content=fits)).status_code == 200
    response = await browser.post("/api/rtc/offer", content=fits + b" ")
    assert response.status_code == 413
    assert message_of(response) == "The body is too large."


async def test_a_body_with_too_large_a_declared_size_is_refused_before_it_is_sent(here: World) -> None:
    host, port = here.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    request = f"POST /api/rtc/offer HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000000000\r\n\r\n"
    writer.write(request.encode())
    status = await asyncio.wait_for(reader.readline(), 20)
    assert b"413" in status
    writer.close()
    await writer.wait_closed()


async def test_a_body_without_a_declared_size_is_refused_at_the_limit(here: World, browser: Browser) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 8_192
            yield b"x" * 8_192

    response = await browser.post("/api/rtc/offer", content=endless())
    assert response.status_code == 413
    assert here.registry.live == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"not json: hunter2",
        b"[]",
        b'{"sdp": 7}',
        b'{"sdp": ""}',
        b'{"sdp": "v=0", "fingerprint": "hunter2"}',
    ],
)
async def test_a_body_that_is_not_an_offer_answers_422_without_repeating_it(
    here: World, browser: Browser, body: bytes
) -> None:
    response = await browser.post("/api/rtc/offer", content=body)
    assert response.status_code == 422
    assert message_of(response).startswith("The request is not valid: ")
    assert "hunter2" not in response.text
    assert here.lines == []


@pytest.mark.document("001", "hang-up and WebSocket")
async def test_a_hang_up_ends_the_call_and_may_be_repeated(here: World, browser: Browser) -> None:
    call = await place_call(browser)
    for _ in range(2):
        response = await browser.post("/api/rtc/disconnect", json={"session_id": call["session_id"]})
        assert (response.status_code, response.json()) == (200, {"ok": True})
    session = here.registry.find(call["session_id"])
    assert (session.state, session.ended_reason) == (SessionState.ENDED, "disconnected")
    assert here.lines[0].closed and here.registry.live == 0


async def test_a_hang_up_by_send_beacon_ends_the_call(here: World, browser: Browser) -> None:
    call = await place_call(browser)
    body = f'{{"session_id": "{call["session_id"]}", "token": "{call["token"]}"}}'
    response = await browser.post(
        "/api/rtc/disconnect", content=body, headers={"content-type": "text/plain;charset=UTF-8"}
    )
    assert response.json() == {"ok": True}
    assert here.registry.live == 0


async def test_a_token_hangs_up_only_its_own_session_without_a_cookie(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as ada, here.browser() as program:
        first, second = await place_call(ada), await place_call(ada)
        wrong = {"session_id": first["session_id"], "token": second["token"]}
        assert (await program.post("/api/rtc/disconnect", json=wrong)).status_code == 404
        right = {"session_id": first["session_id"], "token": first["token"]}
        assert (await program.post("/api/rtc/disconnect", json=right)).status_code == 200
        assert here.registry.live == 1
