"""The compressed files of the page, its configuration, and the description of the API."""

import asyncio
from pathlib import Path

import pytest

from tests.http.world import Browser, World, place_call, world

SCRIPT = "export const one = 1;\n" * 500


@pytest.mark.document("001", "offer and page")
async def test_the_page_is_served_at_the_root_with_its_files(browser: Browser) -> None:
    page = await browser.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "A page" in page.text
    script = await browser.get("/app.js")
    assert "javascript" in script.headers["content-type"]


async def test_an_unchanged_file_is_304_and_a_changed_one_is_sent(browser: Browser, tmp_path: Path) -> None:
    etag = (await browser.get("/app.js")).headers["etag"]
    assert (await browser.get("/app.js", headers={"if-none-match": etag})).status_code == 304
    (tmp_path / "page" / "app.js").write_text("export const two = 2222;")
    changed = await browser.get("/app.js", headers={"if-none-match": etag})
    assert (changed.status_code, changed.headers["etag"] != etag) == (200, True)


async def test_no_file_outside_the_page_can_be_fetched(here: World, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hunter2")
    host, port = here.url.removeprefix("http://").split(":")
    for path in (
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/app.js/../../secret.txt",
    ):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await writer.wait_closed()
        assert answer.startswith(b"HTTP/1.1 404"), path
        assert b"hunter2" not in answer


async def test_without_a_page_the_api_still_answers(tmp_path: Path) -> None:
    async with world(tmp_path, page=False) as here, here.browser() as browser:
        assert (await browser.get("/")).status_code == 404
        assert (await browser.get("/api/config")).json()["responder"]["offline"] is True


async def test_a_file_is_compressed_for_clients_that_accept_it(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page" / "app.js").write_text(SCRIPT)
    packed = await browser.get("/app.js", headers={"accept-encoding": "gzip"})
    plain = await browser.get("/app.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip" and int(packed.headers["content-length"]) < 500
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text == SCRIPT
    assert "accept-encoding" in packed.headers["vary"].lower()
    assert packed.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/api/config", "/healthz", "/metrics", "/api/openapi.json", "/nowhere.js", "/app.js"])
async def test_answers_small_files_and_refusals_are_not_compressed(browser: Browser, path: str) -> None:
    answer = await browser.get(path)
    assert "content-encoding" not in answer.headers
    head = await browser.head("/app.js")
    assert head.status_code == 200 and "content-encoding" not in head.headers


async def test_a_stream_of_events_is_not_compressed(browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    async with browser.stream("GET", f"/api/events/{session_id}") as answer:
        assert "content-encoding" not in answer.headers
        assert await anext(answer.aiter_lines()) == "retry: 2000"
