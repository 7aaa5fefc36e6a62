"""The page notices that the server was killed, and continues the conversation after its restart."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser

from tests.support.browser import tab_in
from tests.support.running_server import running_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
AWAY_S = 2.0
SILENT = "() => Number(document.querySelector('[data-testid=level-out] [role=meter]').ariaValueNow) === 0"


async def test_the_conversation_continues_after_the_server_was_killed(browser: Browser, tmp_path: Path) -> None:
    with running_server(folder=tmp_path) as first:
        async with tab_in(browser, complaints="expected") as tab:
            await tab.open(first.url)
            await tab.page.get_by_test_id("composer-text").fill("My name is Ana.")
            await tab.page.keyboard.press("Enter")
            await tab.sees("transcript", "My name is Ana.")
            await tab.page.locator("[data-testid=entry-assistant][data-state=final]", has_text="Ana").wait_for()
            first.kill()
            await tab.sees("state", "Reconnecting…", 30_000)
            assert "Speaking" not in await tab.text("floor")
            await tab.page.wait_for_function(SILENT)
            assert all(state in ("final", "interrupted") for _, state, _ in await tab.transcript())
            assert "over" not in await tab.text("notice")
            await asyncio.sleep(AWAY_S)
            with running_server(folder=tmp_path, options=["--port", str(urlsplit(first.url).port)]) as second:
                assert second.url == first.url
                await tab.sees("state", "Connected", 60_000)
                await tab.sees("transcript", "Reconnected. The conversation continues.")
                await tab.page.get_by_test_id("composer-text").fill("What is my name?")
                await tab.page.keyboard.press("Enter")
                asked = tab.page.locator("[data-testid=entry-user]", has_text="What is my name?")
                await asked.locator("~ [data-testid=entry-assistant]", has_text="Your name is Ana.").wait_for()
                assert len([role for role, _, _ in await tab.transcript() if role == "user"]) == 2
