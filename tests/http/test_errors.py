"""All errors have one shape, and none reveals what a caller may not know."""

import logging
import re
from pathlib import Path

import pytest

from tests.http.world import SDP, Browser, message_of, world


async def test_an_unforeseen_error_shows_a_number_that_the_log_explains(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def explode(_sdp: str) -> None:
        raise ZeroDivisionError("the password is hunter2")

    async with world(tmp_path, accept=explode) as here, here.browser() as browser:
        response = await browser.post("/api/rtc/offer", json={"sdp": SDP})
        assert response.status_code == 500
        assert message_of(response) == "Something went wrong on the server."
        assert "hunter2" not in response.text and "ZeroDivision" not in response.text
        number = re.search(r"[0-9a-f]{8}", response.json()["error"]["hint"])
        assert number is not None
        (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert number[0] in record.getMessage()
        assert record.exc_info is not None and record.exc_info[0] is ZeroDivisionError
        assert (await browser.get("/healthz")).status_code == 200


async def test_errors_of_routing_have_the_same_shape(browser: Browser) -> None:
    assert message_of(await browser.get("/api/nowhere")) == "Not Found."
    assert message_of(await browser.get("/nowhere.js")) == "Not Found."
    response = await browser.patch("/api/config")
    assert (response.status_code, message_of(response)) == (405, "Method Not Allowed.")
    assert response.headers["allow"] == "GET"


async def test_a_wrong_query_answers_422_without_repeating_it(browser: Browser) -> None:
    session_id = (await browser.post("/api/sessions")).json()["session_id"]
    response = await browser.get(f"/api/events/{session_id}?after=hunter2")
    assert response.status_code == 422
    assert "query.after" in message_of(response)
    assert "hunter2" not in response.text


async def test_a_get_request_with_a_large_body_answers_413(browser: Browser) -> None:
    response = await browser.request("GET", "/api/config", content=b"x" * 70_000)
    assert response.status_code == 413
    assert message_of(response) == "This request must not have a body."
