"""Client secrets: made with a key or a cookie, they open calls in their session, and nothing else."""

import asyncio
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

import httpx2
import pytest
from websockets.exceptions import InvalidStatus

from backend.testing.memory import FakeMemory, age
from tests.extensions.realtime_endpoint.test_websocket import write
from tests.http.test_keys import PAGE, keyed, shown, token
from tests.http.world import World, world
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_client import realtime_client
from tests.support.running_server import RunningServer

SECRETS = "/v1/realtime/client_secrets"
SESSION = {"type": "realtime", "model": "gpt-realtime-2", "instructions": "You are a lighthouse keeper."}


async def secret_of(here: World, headers: dict[str, str], **body: Any) -> dict[str, Any]:
    async with here.browser(headers=headers) as program:
        made = await program.post(SECRETS, json={"session": SESSION, **body})
        assert made.status_code == 200, made.text
        return dict(made.json())


async def hangs_up(here: World, secret: str, origin: str = "") -> int:
    """Make a request that answers a valid secret with 404, and refuses any other."""
    headers = shown(secret, origin or None)
    async with here.browser(headers=headers) as page:
        return int((await page.get("/v1/realtime/nothing")).status_code)


async def test_a_secret_opens_the_realtime_endpoint_for_any_page_and_nothing_else(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        secret = (await secret_of(here, shown(token("call", "chat"))))["value"]
        assert await hangs_up(here, secret) == 404
        assert await hangs_up(here, secret, "https://anywhere.example") == 404
        assert await hangs_up(here, secret[:-2] + "xx") == 401
        async with here.browser(headers=shown(secret)) as page:
            assert (await page.get("/api/sessions")).status_code == 401
            assert (await page.post("/api/multiturn", json={"message": "Hi"})).status_code == 401
            again = await page.post(SECRETS, json={"session": SESSION})
            assert again.status_code == 403 and "cannot create another" in again.json()["error"]["message"]
            asked = {"origin": "https://anywhere.example", "access-control-request-method": "POST"}
            preflight = await page.options("/v1/realtime/calls", headers=asked)
            assert preflight.headers["access-control-allow-origin"] == "https://anywhere.example"


async def test_a_token_for_one_origin_makes_a_secret_for_that_origin(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        secret = (await secret_of(here, shown(token("call", origin=PAGE), PAGE)))["value"]
        assert await hangs_up(here, secret, PAGE) == 404
        assert await hangs_up(here, secret, "https://elsewhere.example") == 403


async def test_a_caller_without_the_right_to_call_gets_no_secret(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here, here.browser() as stranger:
        assert (await stranger.post(SECRETS, json={})).status_code == 401
        assert (await stranger.post(SECRETS, json={}, headers=shown(token("chat")))).status_code == 403


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"session": {"type": "transcription"}}, "session"),
        ({"session": {"tools": 7}}, "tools"),
        ({"session": {"audio": {"output": {"format": {"type": "audio/wav"}}}}}, "format"),
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, "seconds"),
        ({"expires_after": {"anchor": "created_at", "seconds": 7201}}, "seconds"),
    ],
)
async def test_an_impossible_session_is_refused(tmp_path: Path, body: dict[str, Any], named: str) -> None:
    async with keyed(tmp_path) as here, here.browser(headers=shown(token("call"))) as program:
        refused = await program.post(SECRETS, json=body)
    assert refused.status_code == 422 and named in refused.json()["error"]["message"]


async def test_a_secret_is_void_without_the_cookie_that_made_it_and_after_an_erasure_of_its_user(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here, here.browser() as visitor:
        await visitor.get("/api/config")  # the first visit brings the cookie
        for forget in (False, True):
            made = (await visitor.post(SECRETS, json={"session": SESSION})).json()["value"]
            assert await hangs_up(here, made) == 404
            exported = (await visitor.get("/api/me/export")).text
            assert "lighthouse" in exported and made not in exported
            if forget:
                assert (await visitor.delete("/api/me")).status_code == 200
                assert await hangs_up(here, made) == 401


async def test_another_process_reads_it_until_it_expires(tmp_path: Path) -> None:
    memory = FakeMemory()
    async with keyed(tmp_path, memory=memory) as one, keyed(tmp_path, memory=memory) as two:
        made = await secret_of(one, shown(token("call", sub="ada@example.org")))
        assert set(made["value"]) <= set(ascii_letters + digits + "-_.|"), "a subprotocol"
        assert await hangs_up(two, made["value"]) == 404
        await age(memory._client.redis, 601)
        assert await hangs_up(two, made["value"]) == 401


async def test_a_call_by_secret_has_its_session_and_its_makers_user(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "The light is on."}}]})
    async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as program:
        await program.get("/api/config")
        secret = (await program.post(SECRETS, json={"session": SESSION})).json()["value"]
        async with realtime_client(running.url, key=secret, query="") as client:
            created = await client.event("session.created")
            assert created["session"]["instructions"] == SESSION["instructions"]
            await write(client, "Is the light on?")
            await client.event("response.done")
            own = (await program.get("/api/sessions")).json()
        assert [call["state"] for call in own["sessions"]] == ["live"]
    instructions = (await peer.connections())[-1]["received"][0]["event"]["session"]["instructions"]
    assert instructions.startswith("You are a lighthouse keeper.")
    with pytest.raises(InvalidStatus):
        async with asyncio.timeout(30), realtime_client(running.url, key="ek_nothing"):
            pass
