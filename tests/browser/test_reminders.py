"""Reminders on the page: shown without a call, acknowledged when seen, and listed."""

import time

import httpx2
import pytest
from playwright.async_api import Browser

from backend.sessions.event_log import PageMessage
from tests.support.browser import Tab, tab_in
from tests.support.running_server import running_server
from tests.support.standin import StandIn, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
HIDE = """(hidden) => {
  Object.defineProperty(document, "visibilityState", { value: hidden ? "hidden" : "visible", configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def come_due(server: StandIn, number: int, text: str) -> None:
    data = {"id": f"reminder-{number}-1", "kind": "reminder", "text": f"A reminder: {text}", "source": str(number)}
    server.user_events.append(PageMessage("notice", data | {"state": "waiting"}))


async def test_a_reminder_stays_on_the_page_until_it_is_dismissed(tab: Tab, server: StandIn) -> None:
    come_due(server, 1, "take the bread out")
    await tab.sees("reminder-due", "take the bread out")
    await until(lambda: server.seen == ["reminder-1-1"])
    await tab.sees("notice-item", "Delivered")
    await tab.press("reminder-done")
    await tab.page.get_by_test_id("reminder-due").wait_for(state="detached")


async def test_unreadable_reminders_are_counted_in_the_list(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        server.unreadable_reminders = 2
        await tab.open(server.url)
        await tab.sees("unreadable", "2 reminders cannot be shown: a newer version of the server wrote them.")


async def test_a_hidden_tab_acknowledges_a_reminder_when_it_becomes_visible(tab: Tab, server: StandIn) -> None:
    await tab.page.evaluate(HIDE, True)
    come_due(server, 2, "call Ana")
    await tab.sees("reminder-due", "call Ana")
    assert server.seen == []
    await tab.page.evaluate(HIDE, False)
    await until(lambda: server.seen == ["reminder-2-1"])


async def test_a_reminder_during_a_call_is_left_to_the_call(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    come_due(server, 3, "feed the cat")
    server.publish("notice", id="reminder-4-1", kind="reminder", text="A reminder: go home", source="4", state="told")
    await tab.sees("notice-item", "go home")
    assert server.seen == [] and await tab.page.get_by_test_id("reminder-due").count() == 0


async def test_set_reminders_are_listed_and_can_be_cancelled(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        about = {"at": "2026-11-27T15:00:00+01:00", "repeat": "FREQ=DAILY", "state": "set"}
        server.reminders = [{"id": "r1", "text": "water the plants", **about}]
        await tab.open(server.url)
        await tab.sees("reminder-set", "water the plants")
        await tab.sees("reminder-set", "repeats")
        await tab.press("reminder-cancel")
        await tab.page.get_by_test_id("reminder-set").wait_for(state="detached")
        server.reminders = [{"id": "r2", "text": "call Tom", **about}]
        server.user_events.append(PageMessage("reminder", {"id": "r2", "event": "set"}))
        await tab.sees("reminder-set", "call Tom")


async def test_a_reminder_of_a_real_server_reaches_the_page_once(browser: Browser) -> None:
    """The page, the stream and the delivery are real."""
    with running_server() as running:
        async with tab_in(browser) as tab:
            await tab.open(running.url)
            set_one = """async () => (await (await fetch("/notification", {
              method: "POST", body: JSON.stringify({ text: "take the bread out", at: "in 2 seconds" }),
            })).json()).at_s"""
            due = await tab.page.evaluate(set_one)
            await tab.sees("reminder-set", "take the bread out")
            await tab.sees("reminder-due", "take the bread out")
            assert time.time() - due < 30.0
            await tab.page.get_by_test_id("reminder-set").wait_for(state="detached")
            metrics = httpx2.get(f"{running.url}/metrics", trust_env=False).text
            assert 'voice_reminders_total{event="page"} 1.0' in metrics
            await tab.press("reminder-done")
            await tab.page.reload()
            await tab.sees("state", "Ready to talk")
            assert await tab.page.get_by_test_id("reminder-due").count() == 0, "the reminder came again"
