"""Pages of another site use the embed under a strict policy, and the client package, with a token of the site."""

import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from backend.access.keys import ApiKeys
from tests.support.axe import assert_accessible
from tests.support.browser import chromium
from tests.support.http_server import serve
from tests.support.microphone import WEATHER, microphone_wav
from tests.support.real_server import real_server

pytestmark = [pytest.mark.realtime, pytest.mark.browser]

FRONTEND = Path(__file__).parents[2] / "frontend"
SECRET = "s" * 32
KEYED = {"ACCESS": "key", "API_KEYS": f"shop:{SECRET}"}
MOST_BYTES = 30_000
LOADED_BY_THE_EMBED = ("voice_client", "call_audio", "connection", "devices", "event_stream", "microphone", "backoff",
                       "reconnecting_call", "server", "webrtc_call", "websocket_call", "voice_worklet")  # fmt: skip
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "web-client.md"
CALLED = "https://voice.example"
TYPED_CALL = """async () => {
  const said = [];
  const console = { log: (words) => said.push(words) };
  const connected = (client) => new Promise((resolve) => client.on("connected", resolve));
  PROGRAM
  await connected(client);
  await client.type("What is the weather in Seattle?");
  await new Promise((resolve) => {
    client.on("transcript", ({ role, content }) => role === "assistant" && content.includes("Seattle") && resolve());
  });
  const conversation = client.conversation;
  await client.disconnect();
  return { said, conversation, over: client.session === null };
}"""


def snippet(language: str, server: str) -> str:
    """Return the lines of the how-to for this server."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", HOWTO.read_text(), re.S)
    return str(found).replace(CALLED, server)


def typed_call(server: str) -> str:
    return TYPED_CALL.replace("PROGRAM", snippet("js", server).replace("connect()", "connect({ silent: true })"))


@asynccontextmanager
async def shop(server: str, embed: str) -> AsyncIterator[str]:
    """Run a site with a policy that allows scripts and connections of the voice server, and nothing inline."""
    sources = f"{server} {server.replace('http', 'ws', 1)}"
    policy = f"default-src 'none'; script-src {server}; connect-src 'self' {sources}; frame-ancestors 'none'"

    def page(request: Request) -> Response:
        body = f'<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1>{embed}</main></html>'
        return HTMLResponse(body, headers={"content-security-policy": policy})

    def token(request: Request) -> Response:
        claims = {"sub": "ada", "grants": {"call": True}, "origin": str(request.base_url).rstrip("/")}
        return JSONResponse({"token": ApiKeys({"shop": SECRET}).sign("shop", claims, 600)})

    async with serve(Starlette(routes=[Route("/", page), Route("/voice-token", token)])) as url:
        yield url.replace("127.0.0.1", "localhost")


async def captions(page: Page, role: str) -> str:
    return " ".join(await page.locator(f"voice-call p.{role}").all_inner_texts())


async def test_a_spoken_question_is_answered_through_the_embed(tmp_path: Path) -> None:
    question = microphone_wav(tmp_path / "question.wav", WEATHER)
    async with (
        real_server(**KEYED) as server,
        chromium(microphone="asked") as tab,
        shop(server, snippet("html", server)) as site,
    ):
        await tab.page.goto(site)
        await tab.page.get_by_role("button", name="Ask us").click()
        await tab.page.locator("voice-call").get_by_text("Listening").wait_for()
        await tab.say(question)
        await tab.page.locator("voice-call p.assistant", has_text="Seattle").wait_for(timeout=60_000)
        assert "weather in Seattle" in await captions(tab.page, "user")
        await assert_accessible(tab.page, "a call through the embed")
        await tab.page.get_by_role("button", name="Mute").click()
        await tab.page.get_by_role("button", name="Unmute").wait_for()
        await tab.page.get_by_role("button", name="Hang up").click()
        await tab.page.get_by_role("button", name="Ask us").wait_for()
        await assert_accessible(tab.page, "the embed before a call")
        typed = await tab.page.evaluate(typed_call(server))
    assert typed["said"][0] == "user: What is the weather in Seattle?"
    assert typed["said"][-1].startswith("assistant: ")
    assert typed["conversation"] and typed["over"]


async def test_a_page_without_a_token_gets_no_call(tmp_path: Path) -> None:
    wav = microphone_wav(tmp_path / "call.wav", 1.0)
    async with (
        real_server(**KEYED) as server,
        chromium(speaks=wav, complaints="expected") as tab,
        shop(server, f'<script type="module" src="{server}/embed.js" data-token-url="/none"></script>') as site,
    ):
        await tab.page.goto(site)
        await tab.page.get_by_role("button", name="Talk to us").click()
        await tab.page.get_by_role("status").filter(has_text="could not be placed").wait_for()
        await tab.page.get_by_role("button", name="Talk to us").wait_for()


async def test_the_embed_has_the_place_words_and_colours_that_its_page_chooses() -> None:
    script = (
        '<script type="module" src="{}/embed.js" data-label="Help me" data-captions="off" data-target="#help"></script>'
    )
    async with (
        real_server(**KEYED) as server,
        chromium() as tab,
        shop(server, '<div id="help"></div>' + script.format(server)) as site,
    ):
        await tab.page.goto(site)
        button = tab.page.locator("#help voice-call").get_by_role("button", name="Help me")
        await button.wait_for()
        for scheme in ("light", "dark"):
            await tab.page.emulate_media(color_scheme=scheme)
            colours = "--voice-accent: rgb(1, 100, 2); --voice-on-accent: rgb(250, 250, 250)"
            await tab.page.evaluate("(css) => { document.querySelector('voice-call').style.cssText = css; }", colours)
            looks = "(button) => [getComputedStyle(button).backgroundColor, getComputedStyle(button).color]"
            assert await button.evaluate(looks) == ["rgb(1, 100, 2)", "rgb(250, 250, 250)"]
            await assert_accessible(tab.page, f"the embed in a page's own colours, {scheme}")
        await tab.page.keyboard.press("Tab")
        assert await tab.page.evaluate("document.activeElement.localName") == "voice-call", (
            "the keyboard does not reach the button"
        )
        assert not await tab.page.locator("voice-call .captions").is_visible()


def test_the_embed_is_small() -> None:
    files = [FRONTEND / "embed.js", *(FRONTEND / "client" / f"{name}.js" for name in LOADED_BY_THE_EMBED)]
    assert (FRONTEND / "embed.js").stat().st_size < MOST_BYTES / 3, "the part before the first click is too large"
    assert sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) < MOST_BYTES
