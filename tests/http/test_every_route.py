"""Rules for all routes are tried on every route of the OpenAPI document, and so on new ones."""

import re
from pathlib import Path

import httpx2
import pytest

from backend.access.principal import Grant
from backend.app.extensions import installed
from backend.http.admission import GRANTS, grant_for
from tests.http.test_keys import keyed
from tests.http.world import Browser, World, place_call

EVERY = {**GRANTS, **installed().joined.grants}


async def operations(browser: httpx2.AsyncClient) -> list[tuple[str, str]]:
    """Return every method and path with an unknown id."""
    paths = (await browser.get("/api/openapi.json")).json()["paths"]
    filled = {path: re.sub(r"\{\w+\}", "A" * 22, path) for path in paths}
    return [(method.upper(), filled[path]) for path, methods in paths.items() for method in methods]


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_a_foreign_page_is_refused_on_every_route(here: World, browser: Browser, origin: str) -> None:
    await place_call(browser)
    for method, path in await operations(browser):
        if path.startswith("/api/") or method != "GET":
            answer = await browser.request(method, path, headers={"origin": origin}, json={})
            assert answer.status_code == 403, (method, path)
            assert not {"access-control-allow-origin", "set-cookie"} & {*answer.headers}
    assert here.registry.live == 1


async def test_a_foreign_host_name_is_refused_on_every_route(browser: Browser) -> None:
    for method, path in await operations(browser):
        answer = await browser.request(method, path, headers={"host": "evil.example"}, json={})
        assert answer.status_code == 421, (method, path)


async def test_every_costly_route_refuses_requests_without_a_token(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here, here.browser() as stranger:
        asked = [each for each in await operations(stranger) if grant_for(each[1], EVERY)[1] not in (None, Grant.ADMIN)]
        assert len(asked) >= 38
        for method, path in asked:
            answer = await stranger.request(method, path, json={})
            assert answer.status_code == 401, (method, path)
            assert "API_KEYS" in answer.text
            assert answer.headers["www-authenticate"] == "Bearer"
