"""Notes are reminders that stay until they are resolved: how a model uses the tool, and when a note is due."""

import json
from typing import Any

import pytest

from backend.agent.context import Note
from backend.middleware.base import Asked, StepOptions
from backend.middleware.steps.due_notes import due_notes
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.notes import RESOLVED_LIMIT, RESOLVED_S, SPOKEN_OF_S, Notes
from backend.notifications.notices import Notice, NoticeRepository
from backend.notifications.service import ReminderService
from backend.page_events import ReminderChanged
from backend.storage.pubsub import PubSub
from backend.testing.memory import FakeMemory
from backend.tools.stickynotes import TEXT_LIMIT, stickynotes
from backend.users.profile_updates import SetPreference, update_profile
from tests.notifications.world import USER, Process, World
from tests.support.agents import toolbox
from tests.support.consent import tool_context

DAY_S = 86_400


class Desk:
    """The tool over one store, for users who speak one after the other."""

    def __init__(self, process: Process, retention_s: int | None = None) -> None:
        self.process, self.world = process, process.world
        self.memory = FakeMemory()
        self.service = ReminderService(process.reminders, process.delivery, self.memory, self.world.clock)
        self.box = toolbox(stickynotes, services={Notes: Notes(self.service, retention_s)})

    async def live_in(self, zone: str) -> None:
        await update_profile(self.memory, USER, SetPreference("time_zone", zone))

    async def call(self, action: str, user: str = USER, **arguments: Any) -> Any:
        """Make one call and return what the model is shown."""
        self.world.now += 1
        content = json.dumps({"action": action, **arguments})
        return json.loads((await self.box.run("stickynotes", content, tool_context(user, "c1"))).content)

    async def trouble(self, action: str, user: str = USER, **arguments: Any) -> str:
        """The text of a call that fails."""
        return str((await self.call(action, user, **arguments))["error"]["message"])

    async def texts(self, user: str = USER, **arguments: Any) -> list[str]:
        return [note["text"] for note in (await self.call("list", user, **arguments))["notes"]]

    async def looked_at(self) -> None:
        """Every reminder that the schedule has for now is delivered."""
        for key in (await self.process.reminders.due(self.world.now, 99))[0]:
            await self.process.delivery.deliver(*key)


@pytest.fixture
def desk() -> Desk:
    return Desk(Process(World(webhook=False)))


@pytest.mark.document("002", "built-in tools")
async def test_a_note_is_made_listed_snoozed_and_resolved(desk: Desk) -> None:
    await desk.live_in("Europe/Oslo")
    made = (await desk.call("create", text=" call the\n plumber", due="tomorrow at nine"))["created"]
    assert (made["text"], made["due"]) == ("call the plumber", "2026-11-22T09:00:00+01:00")
    assert made["when"] == "Sunday, 22 November 2026, 09:00"
    listed = await desk.call("list")
    assert listed["notes"] == [made]
    assert listed["spoken"] == "You have noted: call the plumber, for Sunday, 22 November, at 09:00."
    later = await desk.call("snooze", note_id=made["id"], due="Monday")
    assert later["snoozed"]["due"] == "2026-11-23T09:00:00+01:00", "in the morning of a day"
    done = await desk.call("resolve", note_id=made["id"])
    assert done["resolved"] == {"id": made["id"], "text": "call the plumber", "state": "resolved"}
    assert [event.event for event in desk.world.shown if isinstance(event, ReminderChanged)] == [
        "set",
        "set",
        "canceled",
    ]
    assert await desk.texts() == [] and await desk.texts(resolved=True) == ["call the plumber"]
    assert (await desk.call("list"))["spoken"] == "You have no open notes."
    assert (await desk.call("create", text="Call the plumber"))["created"] == {
        "id": made["id"],
        "text": "call the plumber",
    }, "the same text is one note, which is opened again"


async def test_the_list_starts_with_the_soonest_and_can_be_searched(desk: Desk) -> None:
    for text, due in (("old idea", ""), ("pay the rent", "in two weeks"), ("new idea", ""), ("buy milk", "tomorrow")):
        await desk.call("create", text=text, due=due)
    assert await desk.texts() == ["buy milk", "pay the rent", "new idea", "old idea"]
    assert await desk.texts(query="Idea NEW") == ["new idea"]
    reminders = await desk.service.all_of(USER)
    assert [each["text"] for each in reminders] == ["buy milk", "pay the rent"], "those with a time are reminders"


async def test_the_number_of_notes_is_limited_and_a_long_list_says_how_many_it_leaves_out(desk: Desk) -> None:
    for number in range(5):
        await desk.call("create", text=f"{number} {'x' * (TEXT_LIMIT - 10)}")
    assert (await desk.call("create", text="one more"))["error"]["type"] == "failed"
    desk.process.reminders._per_user = 100
    for number in range(5, 80):
        await desk.call("create", text=f"{number} {'x' * (TEXT_LIMIT - 10)}")
    listed = await desk.call("list")
    assert listed["notes"] and len(listed["notes"]) + listed["more"] == 80


async def test_a_call_without_an_id_means_the_note_spoken_last_or_the_only_one(desk: Desk) -> None:
    await desk.call("create", text="buy milk")
    await desk.call("create", text="call the plumber")
    assert (await desk.call("snooze", due="Monday"))["snoozed"]["text"] == "call the plumber"
    assert (await desk.call("resolve"))["resolved"]["text"] == "call the plumber"
    assert (await desk.call("resolve"))["resolved"]["text"] == "buy milk"
    assert await desk.trouble("resolve") == "The user has no open notes."
    await desk.call("create", text="buy milk")
    await desk.call("create", text="call the plumber")
    desk.world.now += SPOKEN_OF_S
    assert "not clear which note is meant" in await desk.trouble("resolve")


@pytest.mark.parametrize(
    ("zone", "due", "kept"),
    [
        ("Asia/Tokyo", "tomorrow at nine", "2026-11-22T09:00:00+09:00"),
        ("America/New_York", "in ten minutes", "2026-11-21T07:10:01-05:00"),
        ("Pacific/Auckland", "tomorrow", "2026-11-23T09:00:00+13:00"),  # where it is Sunday already
        ("", "tomorrow at nine", "2026-11-22T09:00:00"),
        ("", "today", "2026-11-21T12:30:01"),
    ],
)
async def test_times_are_on_the_users_own_clock_and_the_tool_asks_for_the_zone(
    desk: Desk, zone: str, due: str, kept: str
) -> None:
    if zone:
        await desk.live_in(zone)
    made = await desk.call("create", text="x", due=due)
    assert made["created"]["due"] == kept and ("note" in made) == (not zone)
    elsewhere = await desk.call("create", text="y", due="tomorrow at nine", time_zone="Asia/Tokyo")
    assert elsewhere["created"]["due"] == "2026-11-22T09:00:00+09:00"


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "create", "text": "x", "due": "yesterday at nine"},
        {"action": "create", "text": "x", "due": "2026-11-20"},
        {"action": "create", "text": "x", "due": "when pigs fly"},
        {"action": "create", "text": "x", "due": "tomorrow", "time_zone": "Tokio"},
        {"action": "create"},
        {"action": "create", "text": "x" * (TEXT_LIMIT + 1)},
        {"action": "snooze"},
        {"action": "snooze", "due": "Monday", "note_id": "note_x"},
        {"action": "resolve", "note_id": "note_x"},
    ],
)
async def test_an_impossible_call_says_why(desk: Desk, arguments: dict[str, Any]) -> None:
    await desk.call("create", text="there is one")
    assert await desk.trouble(**arguments)
    assert await desk.texts() == ["there is one"]


async def test_the_tool_sees_neither_anothers_note_nor_reminders(desk: Desk) -> None:
    made = (await desk.call("create", text="a secret", due="tomorrow"))["created"]
    reminder = await desk.process.set()
    assert await desk.texts("bo") == []
    for user, id_ in (("bo", made["id"]), (USER, reminder.id)):
        assert "no such note" in await desk.trouble("resolve", user, note_id=id_)
        assert "no such note" in await desk.trouble("snooze", user, note_id=id_, due="Monday")
    assert await desk.texts() == ["a secret"] and await desk.process.reminders.get(USER, reminder.id) == reminder
    assert (await desk.call("list", ""))["error"]["type"] == "not_allowed"


def test_third_party_programs_cannot_use_the_tool() -> None:
    declared = stickynotes.__tool__  # type: ignore[attr-defined]
    assert declared.clients == {"voice", "chat", "internal", "copilot"} and declared.requires_auth


async def test_without_a_store_the_tool_fails() -> None:
    result = await toolbox(stickynotes).run("stickynotes", '{"action": "list"}', tool_context(USER))
    assert result.error == "failed"


# --- a note is due --------------------------------------------------------------------------------------


async def test_a_due_note_is_delivered_as_a_reminder_and_stays_until_it_is_resolved(desk: Desk) -> None:
    await desk.call("create", text="call the plumber", due="in an hour")
    await desk.call("create", text="buy milk")
    desk.world.now += 3_600
    await desk.looked_at()
    assert [notice.text for notice in desk.world.waiting.values()] == ["A reminder: call the plumber"]
    desk.world.speak()
    desk.world.now += 60
    await desk.looked_at()
    [overdue, other] = sorted((await desk.call("list"))["notes"], key=lambda note: "is_due" not in note)
    assert overdue["is_due"] and "due" not in overdue and "is_due" not in other
    assert (await desk.call("resolve"))["resolved"]["text"] == "call the plumber", "it was delivered just now"
    desk.world.now += 30 * DAY_S
    await desk.looked_at()
    assert not desk.world.waiting and await desk.texts(resolved=True) == ["buy milk"], "it is gone after a month"


@pytest.mark.parametrize(("action", "more"), [("resolve", {}), ("snooze", {"due": "in two days"})])
async def test_a_waiting_note_is_not_delivered_once_it_is_resolved(
    desk: Desk, action: str, more: dict[str, str]
) -> None:
    await desk.call("create", text="call the plumber", due="in an hour")
    desk.world.now += 3_600
    await desk.looked_at()
    await desk.call(action, **more)
    assert not desk.world.waiting
    desk.world.now += 2 * DAY_S
    await desk.looked_at()
    assert bool(desk.world.waiting) == (action == "snooze")


async def test_notes_are_stored_for_a_limited_time() -> None:
    desk = Desk(Process(World(webhook=False)), retention_s=30 * DAY_S)
    for number in range(RESOLVED_LIMIT + 2):
        await desk.call("create", text=f"number {number}")
        await desk.call("resolve")
    assert len(await desk.texts(resolved=True)) <= RESOLVED_LIMIT
    await desk.call("create", text="open")
    desk.world.now += RESOLVED_S + 1
    await desk.looked_at()
    assert await desk.texts(resolved=True) == [], "where data is kept for a limited number of days, open notes are, too"


async def test_a_typed_turn_mentions_a_waiting_note_once_and_by_voice_the_call_does() -> None:
    async with Process(World()) as at:
        repository = NoticeRepository(at.redis)
        notices = NotificationDispatcher(repository, PubSub(at.redis, at.redis))
        for notice in (Notice("r1", "A reminder: tea", "reminder"), Notice("t1", "It is done.", "result")):
            await repository.add(USER, notice)
        options = StepOptions({"limit": 3})

        async def raised(user: str = USER, conversation: str = "c1", mode: Any = "chat") -> Any:
            asked = Asked("What's the weather?", user, conversation, mode)
            given = await due_notes(asked, notices, options)
            return given.data if isinstance(given, Note) else None

        assert await raised("bo") is await raised("") is await raised(USER, "") is await raised(mode="voice") is None
        assert await raised() == ["A reminder: tea"] and await raised() is None
        assert await repository.is_delivered(USER, "r1") and not await repository.is_delivered(USER, "t1")
