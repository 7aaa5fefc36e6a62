"""The OpenAI Agents SDK in Chromium, unchanged, on a page of another site, against the whole server.

The page gets a client secret from its own server, as the SDK asks for; the microphone is a file.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from backend.access.keys import ApiKeys
from tests.extensions.realtime_endpoint.test_howto import HOWTO
from tests.extensions.realtime_endpoint.test_websocket import QUESTION
from tests.support.browser import chromium
from tests.support.http_server import serve
from tests.support.microphone import WEATHER, microphone_wav
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer, running_server

pytestmark = [pytest.mark.realtime, pytest.mark.browser]

BUNDLE = Path(__file__).parents[3] / "node_modules" / "@openai" / "agents-realtime" / "dist" / "bundle"
KEY = "s" * 32
PAGE = """<!doctype html><html lang="en"><title>Keeper</title><link rel="icon" href="data:,">
<script type="module">
  import * as sdk from "/sdk/openai-realtime-agents.mjs";
  const events = window.events = [], calls = window.calls = [];
  const lookOutside = sdk.tool({
    name: "look_outside",
    description: "Look out of the window.",
    parameters: {
      type: "object", properties: { window: { type: "string" } }, required: ["window"], additionalProperties: false,
    },
    strict: true,
    execute: async ({ window: name }) => { calls.push(name); return "rain"; },
  });
  const agent = new sdk.RealtimeAgent({ name: "Keeper", instructions: "You keep a lighthouse.", tools: [lookOutside] });
  window.begin = async (makeTransport) => {
    const session = window.session =
      new sdk.RealtimeSession(agent, { transport: makeTransport(sdk) });
    window.errors = [];
    session.on("error", ({ error }) => errors.push(JSON.stringify(error)));
    session.on("transport_event", (event) => events.push(event));
    session.on("audio", ({ data }) => { window.bytes = (window.bytes ?? 0) + data.byteLength; });
    session.on("audio_interrupted", () => { window.interrupted = true; });
    const secret = await (await fetch("/secret")).json();
    await session.connect({ apiKey: secret.value });
  };
  window.said = (role) => session.history.filter((item) => item.role === role)
    .map(({ content }) => content.map(({ text, transcript }) => text ?? transcript ?? "").join(" "));
  window.ready = true;
</script>"""
OVER_WEBRTC, *_ = re.findall(r"`new (OpenAIRealtime\w+\(.*?\))`", HOWTO.read_text())
"""The how-to's first line."""


@pytest.fixture(scope="module")
def keyed(peer: OfflinePeer) -> Any:
    with running_server(peer, ACCESS="key", API_KEYS=f"shop:{KEY}") as running:
        yield running


@asynccontextmanager
async def site(running: RunningServer) -> AsyncIterator[str]:
    """Another site; its server has a key."""

    def page(request: Request) -> Response:
        return HTMLResponse(PAGE)

    async def secret(request: Request) -> Response:
        token = ApiKeys({"shop": KEY}).sign("shop", {"sub": "ada", "grants": {"call": True}}, 600)
        async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as client:
            session = {"session": {"type": "realtime", "model": "gpt-realtime-2"}}
            headers = {"authorization": f"Bearer {token}"}
            made = await client.post("/v1/realtime/client_secrets", json=session, headers=headers)
        return JSONResponse(made.json(), made.status_code)

    routes = [Route("/", page), Route("/secret", secret), Mount("/sdk", StaticFiles(directory=BUNDLE))]
    async with serve(Starlette(routes=routes)) as url:
        yield url.replace("127.0.0.1", "localhost")


async def begin(page: Page, url: str, transport: str, running: RunningServer) -> None:
    host = running.url.removeprefix("http://")
    await page.goto(url)
    await page.wait_for_function("window.ready")
    await page.evaluate(f"begin((sdk) => new sdk.{transport.replace('localhost:8000', host)})")


async def event(page: Page, type_: str, count: int = 1) -> dict[str, Any]:
    """Wait for the `count`-th event of that type."""
    found = f"events.filter((event) => event.type === '{type_}')[{count - 1}]"
    try:
        await page.wait_for_function(f"() => {found}")
    except Exception as error:
        seen = await page.evaluate("[...new Set(events.map(({ type }) => type))]")
        raise AssertionError(f"no {type_} among {seen}; errors: {await page.evaluate('errors')}") from error
    return dict(await page.evaluate(f"() => {found}"))


async def words(page: Page, role: str, said: str) -> None:
    """Wait until the SDK's history has that message."""
    await page.wait_for_function(f"said('{role}').some((words) => words.includes({json.dumps(said)}))")


async def test_over_webrtc_it_speaks_hears_calls_a_tool_and_interrupts(
    tmp_path: Path, peer: OfflinePeer, keyed: RunningServer
) -> None:
    question = microphone_wav(tmp_path / "question.wav", WEATHER)
    interruption = microphone_wav(tmp_path / "interruption.wav", "no that is enough now please stop")
    story = {"text": "It rains, and it goes on raining. " * 20, "tone": {"hz": 440, "ms": 50_000}}
    call = {"name": "look_outside", "arguments": {"window": "north"}}
    spoken = {"hear": QUESTION, "reply": {"calls": [call]}, "after_results": [story]}
    turns = [
        spoken,
        {"hear": "Stop.", "reply": {"text": "All right.", "tone": {"hz": 660, "ms": 800}}},
        {"reply": story},
    ]
    await peer.follow({"turns": turns})
    async with site(keyed) as url, chromium(microphone="asked") as tab:
        await begin(tab.page, url, OVER_WEBRTC, keyed)
        shown = (await event(tab.page, "session.updated"))["session"]
        assert [tool["name"] for tool in shown["tools"]] == ["look_outside"]
        await tab.say(question)
        await event(tab.page, "output_audio_buffer.started")
        assert await tab.page.evaluate("calls") == ["north"]
        await tab.loud_within(10, 0.001)
        await words(tab.page, "user", QUESTION)
        await tab.say(interruption)
        await event(tab.page, "output_audio_buffer.cleared")
        await words(tab.page, "user", "Stop.")
        await event(tab.page, "output_audio_buffer.stopped")
        await words(tab.page, "assistant", "All right.")
        await tab.page.evaluate("session.sendMessage('Tell me more.')")
        await event(tab.page, "output_audio_buffer.started", count=3)
        await tab.loud_within(10, 0.001)
        await tab.page.evaluate("session.interrupt()")
        await event(tab.page, "output_audio_buffer.cleared", count=2)
        assert await tab.page.evaluate("errors") == []
        call_id = await tab.page.evaluate("session.transport.callId")
        assert call_id.startswith("rtc_")
        await tab.page.evaluate("session.close()")
