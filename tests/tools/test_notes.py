"""The tool `notes` as a model uses it: through the runner, over a store, turn by turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.base import Clock
from backend.tools.notes import SPOKEN_OF_S, notes
from backend.users.notes import OPEN_LIMIT, TEXT_LIMIT, Notes
from backend.users.profile_updates import SetPreference, update_profile
from tests.support.agents import toolbox
from tests.support.consent import tool_context

NOON = 1_795_262_400.0  # Saturday, 2026-11-21, 12:00 UTC


class Desk:
    """The tool over one store, for users who say things one after the other."""

    def __init__(self) -> None:
        self.now = NOON
        self.memory = FakeMemory()
        self.store = Notes(FakeAsyncRedis(), clock=lambda: self.now)
        services = {Notes: self.store, Memory: self.memory, Clock: Clock(lambda: self.now)}
        self.box = toolbox(notes, services=services)

    async def live_in(self, zone: str) -> None:
        await update_profile(self.memory, "ada", SetPreference("time_zone", zone))

    async def call(self, action: str, user: str = "ada", **arguments: Any) -> Any:
        """One call; what the model is shown."""
        self.now += 1
        content = json.dumps({"action": action, **arguments})
        return json.loads((await self.box.run("notes", content, tool_context(user, "c1"))).content)

    async def trouble(self, action: str, user: str = "ada", **arguments: Any) -> str:
        """What a call that fails says."""
        return str((await self.call(action, user, **arguments))["error"]["message"])

    async def texts(self, user: str = "ada", **arguments: Any) -> list[str]:
        return [note["text"] for note in (await self.call("list", user, **arguments))["notes"]]


async def test_a_note_is_made_listed_snoozed_and_resolved() -> None:
    desk = Desk()
    await desk.live_in("Europe/Oslo")
    made = (await desk.call("create", text="call the plumber", due="tomorrow at nine"))["created"]
    assert (made["text"], made["due"]) == ("call the plumber", "2026-11-22T09:00:00+01:00")
    assert made["when"] == "Sunday, 22 November 2026, 09:00"
    listed = await desk.call("list")
    assert listed["notes"] == [made]
    assert listed["spoken"] == "You have noted: call the plumber, for Sunday, 22 November, at 09:00."
    later = await desk.call("snooze", note_id=made["id"], due="Monday")
    assert (later["snoozed"]["due"], later["snoozed"]["when"]) == ("2026-11-23", "Monday, 23 November 2026")
    assert later["spoken"] == "All right, that can wait until Monday, 23 November."
    done = await desk.call("resolve", note_id=made["id"])
    assert (
        done["resolved"]["state"] == "resolved" and done["spoken"] == "Good, that is off your notes: call the plumber."
    )
    assert (await desk.call("list"))["spoken"] == "You have no open notes."
    assert await desk.texts() == []
    assert await desk.texts(resolved=True) == ["call the plumber"]
    assert (await desk.call("create", text="buy milk"))["spoken"] == "I have noted: buy milk."


async def test_the_list_has_the_soonest_first_and_can_be_searched() -> None:
    desk = Desk()
    for text, due in (("old idea", ""), ("pay the rent", "in two weeks"), ("new idea", ""), ("buy milk", "tomorrow")):
        await desk.call("create", text=text, due=due)
    assert await desk.texts() == ["buy milk", "pay the rent", "new idea", "old idea"]
    assert await desk.texts(query="Idea NEW") == ["new idea"]


async def test_a_list_too_long_to_be_shown_says_how_many_more_there_are() -> None:
    desk = Desk()
    for number in range(OPEN_LIMIT):
        await desk.store.add("ada", f"{number} {'x' * (TEXT_LIMIT - 10)}")
    listed = await desk.call("list")
    assert listed["notes"] and len(listed["notes"]) + listed["more"] == OPEN_LIMIT
    assert "100 open notes already. Resolve some" in await desk.trouble("create", text="one more")


async def test_it_is_the_note_that_was_just_spoken_of() -> None:
    desk = Desk()
    await desk.call("create", text="buy milk")
    await desk.call("create", text="call the plumber")
    assert (await desk.call("snooze", due="Monday"))["snoozed"]["text"] == "call the plumber"
    assert (await desk.call("resolve"))["resolved"]["text"] == "call the plumber"
    assert (await desk.call("resolve"))["resolved"]["text"] == "buy milk"  # the only one left
    assert await desk.trouble("resolve") == "The user has no open notes."


async def test_where_it_is_not_clear_the_model_gets_a_hint() -> None:
    desk = Desk()
    await desk.call("create", text="buy milk")
    await desk.call("create", text="call the plumber")
    desk.now += SPOKEN_OF_S
    assert "not clear which note is meant. List the notes" in await desk.trouble("resolve")
    await desk.store.add("ada", "third", "2026-11-21T13:00:00")
    await desk.store.add("ada", "fourth", "2026-11-21T13:00:00")
    desk.now += 3_600
    assert len(await desk.store.bring_up("ada", "c1", zone=None, limit=3)) == 2
    assert "not clear" in await desk.trouble("resolve")


async def test_a_note_that_has_come_up_is_the_one_meant() -> None:
    desk = Desk()
    await desk.call("create", text="call the plumber", due="in an hour")
    desk.now += 7_200
    await desk.call("create", text="buy milk")
    desk.now += 1
    await desk.store.bring_up("ada", "c1", zone=None, limit=3)
    assert (await desk.call("resolve"))["resolved"]["text"] == "call the plumber"


@pytest.mark.parametrize(
    ("zone", "due", "kept"),
    [
        ("Asia/Tokyo", "tomorrow at nine", "2026-11-22T09:00:00+09:00"),
        ("America/New_York", "in ten minutes", "2026-11-21T07:10:00-05:00"),
        ("Pacific/Auckland", "tomorrow", "2026-11-23"),  # where it is Sunday already
        ("", "tomorrow at nine", "2026-11-22T09:00:00"),
        ("", "today", "2026-11-21"),
    ],
)
async def test_times_are_read_in_the_users_zone(zone: str, due: str, kept: str) -> None:
    desk = Desk()
    if zone:
        await desk.live_in(zone)
    made = await desk.call("create", text="x", due=due)
    assert made["created"]["due"] == kept
    assert ("note" in made) == (not zone and "T" in kept)  # asks for the zone where it matters


async def test_a_zone_that_was_said_goes_before_the_users_own() -> None:
    desk = Desk()
    await desk.live_in("Europe/Oslo")
    made = await desk.call("create", text="x", due="tomorrow at nine", time_zone="Asia/Tokyo")
    assert made["created"]["due"] == "2026-11-22T09:00:00+09:00"
    assert "IANA" in await desk.trouble("create", text="x", due="tomorrow", time_zone="Tokio")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "create", "text": "x", "due": "yesterday at nine"}, "is past. Ask the user for a time to come."),
        ({"action": "create", "text": "x", "due": "2026-11-20"}, "Friday, 20 November 2026 is past."),
        ({"action": "create", "text": "x", "due": "when pigs fly"}, "cannot be understood. Send it as YYYY-MM-DD"),
        ({"action": "create"}, "A note has 1 to 500 characters."),
        ({"action": "create", "text": "x" * 501}, "at most 500 characters"),
        ({"action": "snooze"}, "Until when is missing. Ask the user."),
        ({"action": "snooze", "due": "Monday", "note_id": "note_x"}, "no such note. List the notes"),
        ({"action": "resolve", "note_id": "note_x"}, "no such note. List the notes"),
    ],
)
async def test_what_cannot_be_done_is_said_so_that_the_model_can_act(arguments: dict[str, Any], message: str) -> None:
    desk = Desk()
    await desk.call("create", text="there is one")
    assert message in await desk.trouble(**arguments)


async def test_anothers_note_does_not_exist() -> None:
    desk = Desk()
    made = (await desk.call("create", text="a secret", due="tomorrow"))["created"]
    assert await desk.texts("bo") == []
    for action, more in (("resolve", {}), ("snooze", {"due": "Monday"})):
        assert "no such note" in await desk.trouble(action, "bo", note_id=made["id"], **more)
    assert await desk.texts() == ["a secret"]
    assert (await desk.call("list", ""))["error"]["type"] == "not_allowed"


async def test_third_party_programs_cannot_use_it_and_it_costs_nothing_where_there_is_no_store() -> None:
    declared = notes.__tool__  # type: ignore[attr-defined]
    assert declared.clients == {"voice", "chat", "internal", "copilot"} and declared.requires_auth
    box = toolbox(notes, services={Memory: FakeMemory(), Clock: Clock(lambda: NOON)})
    result = await box.run("notes", '{"action": "list"}', tool_context("ada"))
    assert result.error == "failed" and "cannot be kept here" in result.content
