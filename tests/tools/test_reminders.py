"""The tool `reminders`: create, list, cancel, each user's own."""

from typing import Any

import pytest

from backend.errors import BadRequest
from backend.tools.reminders import LISTED, reminders
from tests.support.consent import tool_context

ANA = tool_context("ana")


class InAList:
    """Reminders in a list."""

    def __init__(self, *texts: str) -> None:
        self.kept: list[dict[str, Any]] = [
            {"id": f"r{number}", "text": text, "owner": "ana"} for number, text in enumerate(texts)
        ]

    async def set(self, owner: str, text: str, at: str, repeat: str = "", time_zone: str = "") -> Any:
        return {"owner": owner, "text": text, "at": at, "repeat": repeat}

    async def all_of(self, owner: str) -> Any:
        return [each for each in self.kept if each["owner"] == owner]

    async def cancel(self, owner: str, reminder_id: str) -> Any:
        return next((each for each in await self.all_of(owner) if each["id"] == reminder_id), None)


Kept: Any = InAList


async def test_a_reminder_is_set_for_the_user_who_asks() -> None:
    result = await reminders(ANA, Kept(), "create", "take the bread out", "in ten minutes")
    expected = {"owner": "ana", "text": "take the bread out", "at": "in ten minutes", "repeat": "none"}
    assert result.data == {"set": expected}
    assert result.spoken == "I will remind you in ten minutes: take the bread out."


async def test_the_answer_says_the_time_of_day_or_the_time_left() -> None:
    kept = Kept("run", "call Tom")
    kept.kept[0] |= {"when": "Friday, …", "at": "2026-11-27T09:00:00+01:00", "repeat": "FREQ=DAILY"}
    kept.kept[1] |= {"when": "", "at": "2026-11-21T12:10:00+00:00", "repeat": "none", "in_s": 600}
    assert (await reminders(ANA, kept, "list")).spoken == (
        "You have these reminders: run, on Friday, 27 November, at 09:00, and again after that; "
        "call Tom, in 10 minutes."
    )
    canceled = await reminders(ANA, kept, "cancel", text="Tom")
    assert canceled.spoken == "I will not remind you of this any more: call Tom."
    assert (await reminders(ANA, Kept(), "list")).spoken == "You have no reminders."


async def test_a_missing_argument_is_asked_for() -> None:
    for text, at in (("", "in ten minutes"), ("bread", " ")):
        with pytest.raises(BadRequest, match="missing") as refused:
            await reminders(ANA, Kept(), "create", text, at)
        assert refused.value.hint


async def test_a_reminder_is_canceled_by_its_id_by_its_words_or_as_the_only_one() -> None:
    kept = Kept("take the bread out", "call Tom")
    by_id = await reminders(ANA, kept, "cancel", reminder_id="r1")
    by_words = await reminders(ANA, kept, "cancel", text="Tom")
    assert by_id.data == by_words.data and by_id.data["canceled"]["text"] == "call Tom"
    assert (await reminders(ANA, Kept("call Tom"), "cancel")).data["canceled"]["id"] == "r0"


@pytest.mark.parametrize(("texts", "words"), [((), ""), (("call Tom",), "bread"), (("call Tom", "call Ana"), "call")])
async def test_an_ambiguous_reminder_is_asked_about(texts: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadRequest):
        await reminders(ANA, Kept(*texts), "cancel", text=words)


async def test_a_list_is_short_and_the_users_own() -> None:
    kept = Kept(*(f"number {number}" for number in range(LISTED + 3)))
    result = await reminders(ANA, kept, "list")
    assert len(result.data["reminders"]) == LISTED and result.data["more"] == 3
    assert (await reminders(tool_context("eve"), kept, "list")).data == {"reminders": [], "more": 0}
    with pytest.raises(BadRequest):
        await reminders(tool_context("eve"), kept, "cancel", reminder_id="r0")
