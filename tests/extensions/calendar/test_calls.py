"""A calendar through the whole server: an event typed into a call is kept, given to its user alone, and erased."""

from __future__ import annotations

from pathlib import Path

import httpx2

from tests.support.running_server import RunningServer, a_browser, placed_call, running_server, type_text


async def calendar(browser: httpx2.AsyncClient) -> dict[str, str]:
    """What is kept of the caller's calendar: id → iCalendar text."""
    kept: dict[str, str] = (await browser.get("/api/me/export")).json()["calendar"]
    return kept


def files(running: RunningServer) -> list[Path]:
    return list((running.folder / "var" / "calendars").glob("*/*"))


async def test_an_event_is_kept_given_to_its_user_and_erased_with_them() -> None:
    with running_server() as running:
        async with a_browser(running) as browser, a_browser(running) as stranger:
            async with placed_call(running, transport="ws", browser=browser) as call:
                told = await type_text(call, "Put the dentist in my calendar for tomorrow at three.")
            assert (told["domain"], told["source"]) == ("assistant", "live")
            [text] = (await calendar(browser)).values()
            assert "SUMMARY:Dentist" in text
            assert "T150000" in text
            assert await calendar(stranger) == {}
            assert (await stranger.delete("/api/me")).status_code == 200
            assert len(files(running)) == 1
            assert (await browser.delete("/api/me")).status_code == 200
            assert await calendar(browser) == {}
            assert list((running.folder / "var" / "calendars").glob("*/")) == []
