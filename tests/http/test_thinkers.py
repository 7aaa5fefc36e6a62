"""Cancelling a Thinker, and asking for an answer that came too late."""

from __future__ import annotations

from tests.http.world import Browser, World, place_call


async def test_what_the_caller_wants_of_a_thinker_reaches_the_call(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    for verb in ("cancel", "say"):
        response = await browser.post(f"/api/sessions/{session_id}/thinkers/call-1/{verb}")
        assert (response.status_code, response.json()) == (202, {"ok": True})
    assert (here.calls[session_id].cancelled, here.calls[session_id].said) == (["call-1"], ["call-1"])


async def test_nothing_is_asked_of_a_session_without_a_live_call(browser: Browser) -> None:
    session_id = (await browser.post("/api/sessions")).json()["session_id"]
    for verb in ("cancel", "say"):
        assert (await browser.post(f"/api/sessions/{session_id}/thinkers/c1/{verb}")).status_code == 422
