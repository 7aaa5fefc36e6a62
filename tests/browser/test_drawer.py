"""The developer's drawer: filtered events, figures of the connection, scores of the detector, and the provider."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.support.browser import Tab, tab_in
from tests.support.standin import SESSION, StandIn, standing_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@contextlib.asynccontextmanager
async def drawer(browser: Browser, levels: list[dict[str, Any]] | None = None) -> AsyncIterator[tuple[Tab, StandIn]]:
    """Open a call with the drawer."""
    async with standing_in() as server, tab_in(browser) as tab:
        server.levels = levels or []
        await tab.open(server.url)
        await tab.press("open-drawer")
        await tab.connect()
        server.publish("session_started", session_id=SESSION, responder="The Responder", model="m-1", offline=True,
                    hearing="ten", transport="webrtc")  # fmt: skip
        await tab.sees("drawer-session", SESSION)
        yield tab, server


async def rows(tab: Tab) -> list[str]:
    types: list[str] = await tab.page.locator("[data-testid=log] code").all_inner_texts()
    return types


async def test_the_drawer_shows_the_provider_and_copies_the_session_id(browser: Browser) -> None:
    async with drawer(browser) as (tab, _):
        facts = await tab.text("drawer-session")
        assert facts.split("\n")[:2] == ["Responder", "The Responder"] and "m-1" in facts and "ten" in facts
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.press("copy-session")
        await tab.sees("copy-session", "Copied")
        assert await tab.page.evaluate("navigator.clipboard.readText()") == SESSION


async def test_the_log_shows_only_events_that_pass_its_filters(browser: Browser) -> None:
    async with drawer(browser) as (tab, server):
        server.publish("floor", floor="user")
        server.publish("transcript", role="user", item_id="u1", content="What about Paris?")
        server.publish("thinker", call_id="c1", event="routed", domain="weather", label="Weather", elapsed_ms=0)
        await tab.sees("log-count", "4")
        assert await rows(tab) == ["session_started", "floor", "transcript", "thinker"]
        await tab.press("log-turns")
        await tab.press("log-session")
        assert await rows(tab) == ["transcript", "thinker"]
        await expect(tab.page.get_by_test_id("log-count")).to_have_text("2 of 4")
        await tab.page.get_by_test_id("log-search").fill("paris")
        assert await rows(tab) == ["transcript"]
        server.publish("transcript", role="user", item_id="u2", content="Or Rome?")
        server.publish("transcript", role="user", item_id="u3", content="In PARIS, then.")
        await tab.sees("log-count", "2 of 6")
        await tab.page.get_by_test_id("log-search").fill("")
        await tab.press("log-turns")
        await tab.press("log-session")
        await tab.sees("log-count", "6")


async def test_the_log_shows_the_costs_of_the_call_so_far(browser: Browser) -> None:
    async with drawer(browser) as (tab, server):
        for tokens, usd in ((120, 0.0034), (1260, 0.0212)):
            server.publish("usage", responder="The Responder", model="m-1", input_tokens=tokens, cached_tokens=0,
                        output_tokens=9, audio_sent_ms=900, audio_received_ms=700, usd=usd, call_tokens=tokens,
                        call_usd=usd)  # fmt: skip
        await tab.sees("log", "$0.0034")
        await tab.sees("log", "$0.0212")


async def test_the_scores_of_the_detector_are_drawn_with_the_threshold(browser: Browser) -> None:
    levels = [{"threshold": 0.7, "frame_ms": 20, "scores": [0.1] * 30 + [0.95] * 10}]
    async with drawer(browser, levels) as (tab, _):
        await tab.sees("speech-words", "Now 0.95, threshold 0.70; speech for 25% of 1 s")
        painted = await tab.page.evaluate("""() => {
            const canvas = document.querySelector("[data-testid=speech-scores]");
            const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const column = (x) => Array.from({ length: canvas.height }, (_, y) => data[4 * (y * width + x) + 3])
                .filter(Boolean).length;
            return [column(100), column(width - 35), column(width - 5)];
        }""")
        assert painted[0] < 8, "something other than the threshold was drawn before the first score"
        assert 15 <= painted[1] < 30 and painted[2] > 160


async def test_the_figures_of_the_connection_are_read_only_while_the_drawer_is_open(browser: Browser) -> None:
    async with drawer(browser) as (tab, _):
        await tab.page.wait_for_function(
            "() => { const shown = document.querySelector('[data-testid=drawer-network]').innerText; "
            "return /Jitter\\n[0-9.]+ ms/.test(shown) && /Round trip\\n[0-9.]+ ms/.test(shown); }"
        )
        figures = (await tab.text("drawer-network")).split("\n")
        shown = dict(zip(figures[::2], figures[1::2], strict=True))
        assert set(shown) == {"Round trip", "Jitter", "Lost, to you", "Lost, from you", "Concealed", "Jitter buffer"}
        assert shown["Lost, to you"] == "0.0%" and shown["Round trip"].endswith(" ms")
        await tab.press("open-drawer")
        await tab.page.get_by_test_id("drawer").wait_for(state="hidden")
        asked = "() => { let n = 0; const p = testPeers[0], real = p.getStats; p.getStats = function () { n += 1; " \
            "return real.call(p); }; return new Promise((done) => setTimeout(() => done(n), 1500)); }"  # fmt: skip
        assert await tab.page.evaluate(asked) == 0
