"""The page shows the tool call of a confirmation, and a click answers it."""

import pytest
from playwright.async_api import Browser

from backend.sessions.event_log import PageMessage
from tests.support.browser import Tab, tab_in
from tests.support.standin import StandIn, standing_in
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
QUESTION = {
    "id": "q1",
    "conversation_id": "c1",
    "tool": "github_issue",
    "arguments": {"action": "close", "number": 12, "text": "<b>bold</b>"},
    "expires_at": 4_000_000_000.0,
}


async def test_a_confirmation_shows_the_tool_call_and_a_click_accepts_or_refuses_it(browser: Browser) -> None:
    async with standing_in() as server, tab_in(browser) as tab:
        server.confirmations = [QUESTION]
        await tab.open(server.url)
        await tab.sees("confirmation", "github issue: action close, number 12, text <b>bold</b>")
        await tab.press("confirmation-refuse")
        await until(lambda: server.decisions == [("q1", False)])
        await tab.page.get_by_test_id("confirmation").wait_for(state="detached")
        server.user_events.append(PageMessage("confirmation.asked", QUESTION | {"id": "q2"}))
        await tab.sees("confirmation", "close")
        await tab.press("confirmation-agree")
        await until(lambda: server.decisions[1:] == [("q2", True)])


async def test_a_confirmation_in_a_call_disappears_after_a_spoken_answer(tab: Tab, server: StandIn) -> None:
    await tab.connect()
    server.publish("confirmation.asked", **QUESTION)
    await tab.sees("confirmation", "close")
    server.publish("confirmation.answered", id="q1", conversation_id="c1", agreed=True)
    await tab.page.get_by_test_id("confirmation").wait_for(state="detached")
    server.publish("confirmation.asked", **(QUESTION | {"id": "q3"}))
    await tab.press("confirmation-agree")
    await until(lambda: "Yes." in server.typed)
