"""The assistant manages the user's calendar, asks before every change, and keeps users apart."""

from __future__ import annotations

import json
from typing import Any

from backend.settings.settings import load_settings
from tests.support.agents import call
from tests.thinkers.world import NOWHERE, World, world

CREATE = [call("calendar_create_event", '{"title": "Dentist", "start": "2026-11-22T15:00"}')]
LIST = [call("calendar_list_events", "{}")]


def last_result(w: World) -> Any:
    """The last tool result in the model's input."""
    return json.loads(w.model.requests[-1]["messages"][-1]["content"])


async def test_a_user_sees_neither_anothers_calendar_nor_a_cached_answer() -> None:
    scenes = (CREATE, ["It is in."], LIST, ["The dentist."], LIST, ["Nothing."], LIST, ["Still the dentist."])
    async with world(*scenes) as w:
        await w.ask("assistant", "Put the dentist in for tomorrow at three.")
        await w.ask("assistant", "What is on?")
        assert (await w.ask("assistant", "What is on?", user="bob")).text == "Nothing."
        assert last_result(w)["events"] == []
        again = await w.ask("assistant", "What is on?")
        assert (again.text, again.source) == ("Still the dentist.", "live")


async def test_an_unknown_caller_is_asked_to_sign_in() -> None:
    async with world(LIST, ["Please sign in."]) as w:
        await w.ask("assistant", "What is on?", user="")
        assert last_result(w)["error"]["type"] == "not_allowed"


async def test_the_model_gets_the_users_time_zone_and_instructions_for_the_calendar() -> None:
    async with world(["Nothing is on."]) as w:
        await w.memory.update_user_context("ada", lambda known: {"preferences": {"time_zone": "Asia/Tokyo"}})
        await w.ask("assistant", "What is on?")
        assert "21:00 (time zone Asia/Tokyo)" in w.system()
        assert "list it first" in w.system()


async def test_an_unreachable_calendar_server_is_reported_to_the_model() -> None:
    settings = load_settings(_env_file=None, calendar={"url": "http://127.0.0.1:9/voice/"}, **NOWHERE)
    async with world(LIST, ["I cannot reach your calendar."], settings=settings) as w:
        answer = await w.ask("assistant", "What is on?")
        assert "cannot be reached" in last_result(w)["error"]["message"]
    assert answer.source == "model"
