"""A stranger proves some work before the first costly request, once, in time, for their own address, and in full."""

from __future__ import annotations

import asyncio
import io
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from rich.console import Console
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from backend.access.proof_of_work import proof, proves
from responder_thinker.chat import chat
from responder_thinker.proof_of_work import ProvingWork
from responder_thinker.talk import talk
from tests.budgets.test_each_limit import KEYED, shown
from tests.budgets.test_two_processes import OTHER, STRANGER, browser, two_servers
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.running_server import running_server

BITS = 12
ASKED = {"message": "What is 2 + 2?"}
ON = {"BUDGETS__PROOF_OF_WORK_BITS": str(BITS), "BACKGROUND__WORKER": "off"}
COSTLY: dict[str, dict[str, Any]] = {
    "/api/singleturn": ASKED,
    "/api/multiturn": ASKED,
    "/api/reasoning": {"task": "think"},
    "/api/tasks": {"instruction": "look into it"},
    "/api/input": {"text": "look into it"},
    "/embedding": {"input": "words"},
    "/api/sessions": {},
    "/api/rtc/offer": {"sdp": "v=0"},
    "/api/rtc/ice-servers": {},
    "/api/rtvi/offer": {"sdp": "v=0"},
    "/v1/realtime/client_secrets": {},
    "/notification": {"text": "tea", "at": "in ten minutes"},
}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    with running_peer() as running:
        yield running


async def asked(client: httpx2.AsyncClient) -> dict[str, Any]:
    """What the server asks of somebody who has proven nothing."""
    answer = await client.post("/api/singleturn", json=ASKED)
    assert answer.status_code == 428, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["bits"] == BITS and error["hint"] and 0 < error["expires_in_s"] <= 120
    return error


async def shown_by(client: httpx2.AsyncClient, shown: str) -> httpx2.Response:
    return await client.post("/api/singleturn", json=ASKED, headers={"Proof-Of-Work": shown})


async def test_every_costly_route_asks_a_stranger_for_work_and_takes_it_once(peer: OfflinePeer) -> None:
    with two_servers(peer, **ON) as (one, two):
        async with browser(one, STRANGER) as client:
            for path, body in COSTLY.items():
                refused = await client.post(path, json=body)
                assert refused.status_code == 428, (path, refused.text)
            assert (await client.get("/api/me")).status_code == 200, "what costs nothing is not asked for it"
            shown = proof((await asked(client))["challenge"], BITS)
            assert (await shown_by(client, shown)).status_code == 200
            assert (await client.post("/api/tasks", json={"instruction": "look"})).status_code == 202, "known since"
            cookies = {"Cookie": f"caller={client.cookies['caller']}"}
        async with browser(two, STRANGER | cookies) as client:
            assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200, "in the other process, too"
        for server in (one, two):
            async with browser(server, STRANGER) as client:
                again = await shown_by(client, shown)
                assert again.status_code == 428 and "used before" in again.json()["error"]["message"]


async def test_a_proof_that_is_late_or_foreign_or_too_easy_is_refused_with_a_new_challenge(peer: OfflinePeer) -> None:
    with running_server(peer, **ON | {"BUDGETS__PROOF_OF_WORK_S": "10"}) as server:
        async with browser(server, STRANGER) as client, browser(server, OTHER) as other:
            at, first = time.monotonic(), (await asked(client))["challenge"]
            late, foreign = proof(first, BITS), proof((await asked(client))["challenge"], BITS)
            fresh = (await asked(client))["challenge"]
            easy = next(each for each in (f"{fresh}:{n}" for n in range(100)) if not proves(each, BITS))
            forged = proof(fresh[:-1] + ("A" if fresh[-1] != "A" else "B"), BITS)
            refusals = {
                "another address": await shown_by(other, foreign),
                "does not reach": await shown_by(client, easy),
                "not for a challenge of this server": await shown_by(client, forged),
                "is not one": await shown_by(client, "9" * 5000),
            }
            await asyncio.sleep(max(0.0, at + 11 - time.monotonic()))
            refusals["too late"] = await shown_by(client, late)
            for words, answer in refusals.items():
                error = answer.json()["error"]
                assert answer.status_code == 428 and words in error["message"], answer.text
                assert error["challenge"] != first and error["hint"]
            assert (await shown_by(client, proof(error["challenge"], BITS))).status_code == 200
        log = (server.folder / "security.log").read_text()
        assert '"status": 428' in log and first not in log


async def test_a_websocket_opens_nothing_for_somebody_who_has_proven_no_work(peer: OfflinePeer) -> None:
    with running_server(peer, **ON) as server:
        async with browser(server, STRANGER) as client:
            assert (await client.post("/api/sessions", json={})).status_code == 428
            cookies = {"Cookie": f"caller={client.cookies['caller']}"}
            address = f"{server.url.replace('http', 'ws')}/ws/{'a' * 22}"
            async with connect(address, additional_headers=STRANGER | cookies) as socket:
                await socket.send('{"type": "token", "token": "none"}')
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4404


async def test_whoever_is_known_or_at_home_is_not_asked_for_work(peer: OfflinePeer) -> None:
    with running_server(peer, **ON | KEYED | {"ACCESS": "open,key"}) as server:
        for headers in (shown("ada"), {}):
            async with browser(server, headers) as client:
                assert (await client.post("/api/singleturn", json=ASKED)).status_code == 200


async def test_programs_of_ours_prove_work_and_stay_the_user_they_have_become(
    peer: OfflinePeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running_server(peer, **ON | {"BUDGETS__LIMIT_LOOPBACK": "true"}) as server:
        async with httpx2.AsyncClient(base_url=server.url, trust_env=False, auth=ProvingWork()) as http:
            assert (await http.post("/api/singleturn", json=ASKED)).status_code == 200
            user = http.cookies["caller"]
            assert (await http.post("/api/singleturn", json=ASKED)).status_code == 200
            assert http.cookies["caller"] == user
        printed = io.StringIO()
        console = Console(file=printed, width=200, highlight=False)
        assert await chat(url=server.url, console=console, stdin=io.StringIO("What is 2 + 2?\n")) == 0
        assert "proof of work" not in printed.getvalue() and "assistant:" in printed.getvalue()
        wav = ROOT / "examples" / "whats-the-weather-in-seattle.wav"
        assert await talk(wav, url=server.url, transport="ws", console=console) == 0, printed.getvalue()


def test_the_pages_hash_is_sha_256() -> None:
    script = """
      import { createHash } from "node:crypto";
      import { sha256 } from "./frontend/workers/sha256.js";
      const hex = (words) => [...words].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
      for (let length = 0; length < 200; length += 1) {
        const text = "18.ab:".repeat(40).slice(0, length);
        if (hex(sha256(text)) !== createHash("sha256").update(text).digest("hex")) throw new Error(`${length}`);
      }
    """
    subprocess.run(["node", "--input-type=module", "--eval", script], cwd=ROOT, check=True, timeout=60)
