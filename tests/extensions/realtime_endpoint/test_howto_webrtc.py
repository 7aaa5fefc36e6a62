"""The how-to's programs for WebRTC as they stand: the page in Chromium, and the two functions of its server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from backend.access.keys import ApiKeys
from tests.extensions.realtime_endpoint.test_howto import HOWTO
from tests.extensions.realtime_endpoint.test_websocket import QUESTION
from tests.support.browser import chromium
from tests.support.http_server import serve
from tests.support.microphone import WEATHER, microphone_wav
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import running_server
from tests.support.waiting import until

pytestmark = pytest.mark.browser

KEY = "s" * 32
HERE = "http://localhost:8000"
PAGE = '<!doctype html><html lang="en"><title>Lighthouse</title><link rel="icon" href="data:,"><audio autoplay></audio>'


def snippet(language: str, holding: str, server: str) -> str:
    """The how-to's lines in that language, for this server."""
    (found,) = [each for each in re.findall(rf"```{language}\n(.*?)```", HOWTO.read_text(), re.S) if holding in each]
    return str(found).replace(HERE, server)


@asynccontextmanager
async def site(functions: dict[str, Any], token: str) -> AsyncIterator[str]:
    """Another site; its server makes the secret."""

    async def secret(request: Request) -> Response:
        return JSONResponse({"value": await functions["make_secret"](token)})

    routes = [Route("/", lambda request: HTMLResponse(PAGE)), Route("/secret", secret)]
    async with serve(Starlette(routes=routes)) as url:
        yield url.replace("127.0.0.1", "localhost")


async def test_the_page_of_the_how_to_calls_and_its_server_follows(
    tmp_path: Path, peer: OfflinePeer, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = {"text": "It is sunny in Seattle.", "tone": {"hz": 440, "ms": 1500}}
    await peer.follow({"turns": [{"hear": QUESTION, "reply": reply}]})
    wav = microphone_wav(tmp_path / "call.wav", 6.0, WEATHER, 60.0)
    token = ApiKeys({"shop": KEY}).sign("shop", {"sub": "ada", "grants": {"call": True}}, 600)
    with running_server(peer, ACCESS="key", API_KEYS=f"shop:{KEY}") as running:
        functions: dict[str, Any] = {}
        exec(compile(snippet("python", "call_id", running.url), str(HOWTO), "exec"), functions)
        async with site(functions, token) as url, chromium(speaks=wav) as tab:
            said: list[str] = []
            tab.page.on("console", lambda message: said.append(message.text))
            await tab.page.goto(url)
            program = snippet("js", "RTCPeerConnection", running.url)
            call_id = await tab.page.evaluate(f"async () => {{ {program}; return callId; }}")
            following = asyncio.create_task(functions["follow"](token, call_id))
            await until(lambda: "It is sunny in Seattle." in said, 40)
            assert (await tab.heard()).counters["totalAudioEnergy"] > 0.001
            await tab.page.evaluate("testPeers.at(-1).close()")
            async with asyncio.timeout(15):
                await following
    assert QUESTION in capsys.readouterr().out
