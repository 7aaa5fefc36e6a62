"""The page's files go out compressed; what the API says, and streams, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.http.world import Browser, place_call

SCRIPT = "export const one = 1;\n" * 500


async def test_a_file_is_compressed_for_who_understands_it(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page" / "app.js").write_text(SCRIPT)
    packed = await browser.get("/app.js", headers={"accept-encoding": "gzip"})
    plain = await browser.get("/app.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip" and int(packed.headers["content-length"]) < 500
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text == SCRIPT
    assert "accept-encoding" in packed.headers["vary"].lower()
    assert packed.headers["content-security-policy"]


async def test_a_file_that_has_not_changed_is_not_sent_again_and_a_changed_one_is(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "page" / "app.js").write_text(SCRIPT)
    etag = (await browser.get("/app.js")).headers["etag"]
    again = await browser.get("/app.js", headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    (tmp_path / "page" / "app.js").write_text(SCRIPT + "export const two = 2;\n")
    changed = await browser.get("/app.js", headers={"if-none-match": etag})
    assert changed.status_code == 200 and changed.text.endswith("two = 2;\n")


@pytest.mark.parametrize("path", ["/api/config", "/healthz", "/metrics", "/api/openapi.json", "/nowhere.js", "/app.js"])
async def test_answers_small_files_and_refusals_go_out_as_they_are(browser: Browser, path: str) -> None:
    answer = await browser.get(path)
    assert "content-encoding" not in answer.headers
    head = await browser.head("/app.js")
    assert head.status_code == 200 and "content-encoding" not in head.headers


async def test_events_are_not_held_back(browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    async with browser.stream("GET", f"/api/events/{session_id}") as answer:
        assert "content-encoding" not in answer.headers
        assert await anext(answer.aiter_lines()) == "retry: 2000"
