"""Limits of the page: bytes of the first load, time until it can be used, and size after a call of an hour."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.support.browser import Tab, tab_in
from tests.support.page import FRONTEND, page_world
from tests.support.standin import SESSION, StandIn, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


FIRST_LOAD_BYTES = 150_000
INTERACTIVE_MS = 1_000
TURNS_AN_HOUR = 360
"""A turn every ten seconds, with words, a Thinker and its tool: twenty events each."""

NOTE_READY = """new MutationObserver((_, observer) => {
  const button = document.querySelector("[data-testid=connect]");
  if (!button || button.disabled) return;
  window.readyAt = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true });"""

TRANSFERRED = """() => performance.getEntriesByType("navigation")
  .concat(performance.getEntriesByType("resource"))
  .map((entry) => [new URL(entry.name).pathname, entry.transferSize])"""


async def test_the_first_load_is_small_and_from_our_server_only(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser) as tab:
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        await tab.open(here.url, raw=False)
        sizes: list[tuple[str, int]] = await tab.page.evaluate(TRANSFERRED)
        assert {url.split("/")[2] for url in asked} == {here.url.split("/")[2]}
        total = sum(size for _, size in sizes)
        assert 10_000 < total < FIRST_LOAD_BYTES, sorted(sizes, key=lambda each: -each[1])
        loaded = [path for path, _ in sizes]
        assert not {"/view/drawer.js", "/view/memory.js", "/admin/main.js"} & set(loaded), (
            "a module of an unopened part was loaded"
        )
        assert len(loaded) == len(set(loaded)), "a file was loaded twice"


async def test_all_modules_of_the_first_page_are_preloaded() -> None:
    page = (FRONTEND / "index.html").read_text()
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', page)
    needed: dict[str, None] = {}
    walk(FRONTEND / "main.js", needed)
    assert preloaded == sorted(set(needed) - {"main.js"})


def walk(module: Path, found: dict[str, None]) -> None:
    """Collect a module and all its imports, except those by `import()`."""
    name = module.relative_to(FRONTEND).as_posix()
    if name in found:
        return
    found[name] = None
    for imported in re.findall(r'^(?:import|export)[^;]*? from "(\.[^"]+)";', module.read_text(), re.MULTILINE):
        walk((module.parent / imported).resolve(), found)


@pytest.mark.alone
async def test_the_page_can_be_used_within_a_second(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here:
        took: list[float] = []
        for _ in range(5):
            async with tab_in(browser) as tab:
                await tab.page.add_init_script(NOTE_READY)
                await tab.open(here.url)
                took.append(await tab.page.evaluate("readyAt"))
        assert min(took) < INTERACTIVE_MS * others_share(), took


def others_share() -> float:
    """Return how many processes share each processor, at least one: other programs make each second longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


async def speak_for_a_turn(server: StandIn, turn: int) -> None:
    """Publish the events of a turn."""
    thinker: dict[str, Any] = {"call_id": f"c{turn}", "domain": "weather", "label": "Weather", "query": "Seattle",
                               "turn": turn, "into_turn_ms": 500}  # fmt: skip
    tool = {"id": f"t{turn}", "name": "get_current_weather"}
    server.publish("floor", floor="user")
    server.publish("floor", floor="listening")
    server.publish("transcript", role="user", item_id=f"u{turn}", content=f"What about the weather, number {turn}?")
    server.publish("thinker", **thinker, event="routed", elapsed_ms=0)
    server.publish("thinker", **thinker, event="working", elapsed_ms=5, tool=tool | {"event": "started"})
    server.publish("thinker", **thinker, event="working", elapsed_ms=400, tool=tool | {"event": "finished"})
    server.publish("thinker", **thinker, event="complete", elapsed_ms=600, source="live")
    server.publish("floor", floor="assistant")
    for word in ["In", "Seattle", "it", "is", "raining", "all", "day", "long"]:
        server.publish("transcript_delta", role="assistant", item_id=f"a{turn}", delta=f"{word} ")
    server.publish("turn_metrics", turn=turn, hangover_ms=300, commit_ms=5, reply_started_ms=20, first_audio_ms=60,
                played_ms=15, first_sound_ms=400, first_token_ms=40)  # fmt: skip
    server.publish("transcript", role="assistant", item_id=f"a{turn}", content="In Seattle it is raining all day long.")
    server.publish("floor", floor="listening")


async def size_of(tab: Tab) -> tuple[int, int, int]:
    """Return the number of nodes and listeners, and the bytes in use after a collection."""
    devtools = await tab.page.context.new_cdp_session(tab.page)
    await devtools.send("HeapProfiler.collectGarbage")
    await devtools.send("Performance.enable")
    figures = {each["name"]: each["value"] for each in (await devtools.send("Performance.getMetrics"))["metrics"]}
    nodes = await tab.page.evaluate("document.querySelectorAll('*').length")
    await devtools.detach()
    return nodes, int(figures["JSEventListeners"]), int(figures["JSHeapUsedSize"])


@pytest.mark.slow
async def test_the_page_does_not_grow_during_a_call_of_an_hour(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        await tab.open(server.url)
        await tab.press("open-drawer")
        await tab.connect()
        server.publish("session_started", session_id=SESSION, responder="R", model="m", offline=True, hearing="ten",
                    transport="webrtc")  # fmt: skip
        sizes: list[tuple[int, int, int]] = []
        for turn in range(1, TURNS_AN_HOUR + 1):
            await speak_for_a_turn(server, turn)
            if turn % 60 == 0:  # the stand-in keeps 2,000 events only, so the page must read them first
                await tab.sees("turn", f"Turn {turn}")
                await tab.sees("transcript", f"number {turn}?")
            if turn % (TURNS_AN_HOUR // 3) == 0:
                sizes.append(await size_of(tab))
    first, last = sizes[1], sizes[-1]
    assert last[0] <= first[0] + 5, sizes
    assert last[1] <= first[1] + 5, sizes
    assert last[2] < first[2] * 1.25 + 1_000_000, sizes
