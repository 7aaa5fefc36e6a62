"""axe-core finds no fault in any state of the page and of the admin page, in each look."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from backend.page_events import TurnMeasured
from tests.browser.test_memory import known_user
from tests.browser.test_settings import offering
from tests.http.world import place_call
from tests.support.axe import assert_accessible
from tests.support.browser import tab_in
from tests.support.looks import NARROW, fits_and_is_accessible, show
from tests.support.page import page_world
from tests.support.standin import SESSION, StandIn, refusal, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

ADMIN = "correct horse battery"


def converse(server: StandIn) -> None:
    """Publish the events of a call: words of both, an interrupted reply, Thinkers in every state, a measured turn."""
    server.publish("session_started", session_id=SESSION, responder="R", model="m", offline=True, hearing="ten",
                transport="webrtc")  # fmt: skip
    server.publish("floor", floor="assistant")
    server.publish("transcript", role="user", item_id="u1", content="What's the weather in Seattle?")
    server.publish("transcript_interrupted", item_id="a1", heard="It rains", content="It rains all day.")
    server.publish("transcript_delta", role="assistant", item_id="a2", delta="And then")
    for number, event in enumerate(("working", "complete", "failed", "stale")):
        more: dict[str, Any] = {"error": "Out of reach."} if event == "failed" else {}
        if event == "complete":
            more = {"source": "sample", "citations": [{"title": "A page", "url": "https://example.org/weather"}]}
        server.publish("thinker", call_id=f"c{number}", event="routed", domain="weather", label="Weather",
                    query="Seattle", elapsed_ms=0, turn=1, into_turn_ms=500)  # fmt: skip
        tool = {"id": "t1", "name": "get_current_weather", "event": "started"}
        server.publish("thinker", call_id=f"c{number}", event="working", domain="weather", label="Weather", tool=tool,
                    query="Seattle", elapsed_ms=40, turn=1, into_turn_ms=500, detail="calling it")  # fmt: skip
        if event != "working":
            server.publish("thinker", call_id=f"c{number}", event=event, domain="weather", label="Weather",
                        query="Seattle", elapsed_ms=900, turn=1, into_turn_ms=500, **more)  # fmt: skip
    for turn in (1, 2):
        server.publish("turn_metrics", turn=turn, hangover_ms=300, commit_ms=5, reply_started_ms=20, first_audio_ms=60,
                    played_ms=15, first_sound_ms=400, first_token_ms=40)  # fmt: skip


async def test_every_state_of_the_page_is_accessible(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, complaints="expected") as tab:
        server.levels = [{"threshold": 0.7, "frame_ms": 20, "scores": [0.2, 0.9]}]
        await tab.open(server.url)
        await fits_and_is_accessible(tab, "idle")
        server.offer_refusal = refusal(429, "All lines are busy.", retry_after="60")
        await tab.press("connect")
        await tab.sees("notice", "All lines are busy.")
        await fits_and_is_accessible(tab, "refused")
        await tab.page.reload()
        await tab.sees("state", "Ready to talk")
        await tab.connect()
        converse(server)
        await tab.sees("transcript", "And then")
        await fits_and_is_accessible(tab, "in conversation")
        await tab.press("open-drawer")
        await tab.sees("speech-words", "Now 0.90")
        await fits_and_is_accessible(tab, "drawer")
        await tab.page.keyboard.press("Escape")
        await tab.press("open-drawer") if await tab.page.get_by_test_id("drawer").is_visible() else None
        server.publish("error", message="The voice service is slow.", hint="It will catch up.")
        await tab.sees("notice", "The voice service is slow.")
        await fits_and_is_accessible(tab, "a problem during the call")
        for look in NARROW:
            await show(tab, look)
            await tab.press("open-side")
            await tab.sees("metrics-total", "400 ms")
            await assert_accessible(tab.page, f"activity, {look}")
            await tab.press("open-side")
        server.publish("session_ended", reason="idle")
        await tab.sees("notice", "The call ended because nobody spoke for a while.")
        await fits_and_is_accessible(tab, "the call is over")


async def test_the_memory_dialog_is_accessible(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        await known_user(here, tab)
        await tab.page.goto(here.url)
        await tab.press("open-memory")
        await tab.sees("memory-counts", "so far")
        await fits_and_is_accessible(tab, "memory")
        here.memory.down = True
        await tab.page.get_by_test_id("memory-add-facts").fill("a fact")
        await tab.page.keyboard.press("Enter")
        await tab.sees("memory-said", "Memory is down")
        await tab.press("memory-erase")
        await fits_and_is_accessible(tab, "memory, about to be erased")


async def test_the_settings_are_accessible(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        here.page_config = offering()
        await known_user(here, tab)
        await tab.page.goto(here.url)
        await tab.press("open-settings")
        for theme in ("light", "dark", "system"):
            await tab.page.get_by_test_id("settings-theme").select_option(theme)
            await tab.sees("settings-said", "Saved: Theme")
            await assert_accessible(tab.page, f"settings, theme {theme}")
        here.memory.down = True
        await tab.page.get_by_test_id("settings-voice").select_option("cedar")
        await tab.sees("settings-said", "Memory is down")
        await fits_and_is_accessible(tab, "settings that could not be saved")


async def test_the_admin_page_is_accessible(browser: Browser, tmp_path: Path) -> None:
    async with (
        page_world(tmp_path, admin_token=ADMIN) as here,
        here.browser() as caller,
        tab_in(browser, complaints="expected") as tab,
    ):
        session = here.registry.find((await place_call(caller))["session_id"])
        await here.registry.end(session, "idle")
        await place_call(caller)
        here.metrics.turn_measured(TurnMeasured(1, 300, 10, 10, 90, 0, 10, 420, 40))
        here.metrics.thinker_finished("weather", "failed", 1.25)
        here.metrics.session_ended("idle")
        await tab.page.goto(f"{here.url}/admin")
        await tab.sees("gate-title", "Sign in as the operator")
        await fits_and_is_accessible(tab, "the gate")
        await tab.page.get_by_test_id("token").fill(ADMIN)
        await tab.page.keyboard.press("Enter")
        await tab.sees("sessions", "webrtc")
        await fits_and_is_accessible(tab, "the board")


FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
  return {
    name: element.dataset.testid || element.className || element.tagName,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    later: !window.lastFocused || !document.contains(window.lastFocused)
      || Boolean(window.lastFocused.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING),
    wrapped: ((window.lastFocused = element), element === document.body),
  };
}"""


@pytest.mark.parametrize("size", [(1440, 900), (360, 740)])
async def test_the_focus_visits_the_page_in_order_and_is_visible(browser: Browser, size: tuple[int, int]) -> None:
    async with standing_in() as server, tab_in(browser, size=size) as tab:
        await tab.open(server.url)
        stops: list[str] = []
        for _ in range(40):
            await tab.page.keyboard.press("Tab")
            stop = await tab.page.evaluate(FOCUSED)
            if stop["wrapped"]:
                break
            assert stop["outlined"] and stop["seen"] and stop["later"], stop
            stops.append(stop["name"])
        assert stops[0] == "skip" and {"open-memory", "open-drawer", "connect", "composer-text"} <= set(stops)


async def test_nothing_moves_with_reduced_motion(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser, reduced_motion=True) as tab:
        await tab.open(server.url)
        await tab.connect()
        converse(server)
        await tab.sees("transcript", "And then")
        moving = "() => document.getAnimations().map((each) => each.animationName ?? each.transitionProperty)"
        assert await tab.page.evaluate(moving) == []
