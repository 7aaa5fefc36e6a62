"""Consent in a call, through the whole server: what the caller answers decides, and the page learns of both."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

from backend.tools.confirmations import HEARD_AFTER_S
from tests.support.running_server import PlacedCall, a_browser, placed_call, running_server
from tests.support.waiting import until


async def answered(call: PlacedCall, text: str) -> None:
    """Type, and wait until the specialist has answered."""
    path = f"/api/sessions/{call.ticket.session_id}/messages"
    before = len([1 for each in call.all_told("thinker") if each["event"] == "complete"])
    answer = await call.http.post(path, json={"text": text})
    assert answer.status_code == 202, answer.text
    await until(lambda: len([1 for each in call.all_told("thinker") if each["event"] == "complete"]) > before, 20.0)


async def calendar(browser: httpx2.AsyncClient) -> dict[str, Any]:
    kept: dict[str, Any] = (await browser.get("/api/me/export")).json()["calendar"]
    return kept


async def test_an_event_is_deleted_after_the_callers_yes_and_not_after_their_no() -> None:
    with running_server() as running:
        async with a_browser(running) as browser, placed_call(running, transport="ws", browser=browser) as call:
            await answered(call, "Put the dentist in my calendar for tomorrow at three.")
            assert len(await calendar(browser)) == 1
            await answered(call, "Delete the dentist from my calendar.")
            asked = await call.told("confirmation.asked", tool="calendar_delete_event")
            assert len(await calendar(browser)) == 1
            await asyncio.sleep(HEARD_AFTER_S)
            path = f"/api/sessions/{call.ticket.session_id}/messages"
            await call.http.post(path, json={"text": "No."})
            await call.told("confirmation.answered", id=asked.data["id"], agreed=False)
            assert len(await calendar(browser)) == 1
            await answered(call, "Delete the dentist from my calendar.")
            await asyncio.sleep(HEARD_AFTER_S)
            await answered(call, "Yes.")
            await call.told("confirmation.answered", agreed=True)
            assert await calendar(browser) == {}
