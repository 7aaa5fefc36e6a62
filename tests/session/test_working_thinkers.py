"""A Thinker at work in a call: what fills the wait, and what becomes of an answer that comes too late."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from backend.conversation import events as ev
from backend.conversation.commands import CreateReply, Purpose, SubmitResult
from backend.conversation.limits import TurnLimits
from backend.thinkers.base import Answer
from backend.thinkers.work import Consultation
from tests.session.world import PlacedCall, placed_call, settle, thinkers
from tests.support.waiting import until

QUIET = TurnLimits(idle_nudge_s=0, idle_disconnect_s=0, filler_after_s=0)


async def ask_chess(call: PlacedCall) -> None:
    """The caller types a question, and the Responder routes it."""
    call.live.type_text("Who wins?")
    await settle()
    request = call.responder.requests[-1].request
    arguments = '{"domain": "chess", "query": "who wins"}'
    call.responder.say(
        ev.ReplyStarted("r1", request),
        ev.ToolCalled("r1", "c1", "route_to_thinker", arguments),
        ev.ReplyFinished("r1", "completed"),
    )
    await settle()


async def test_a_filler_is_worded_like_the_thinker_at_work() -> None:
    async def think(_: Consultation) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    registry = thinkers(chess=(think, {"filler": "Still pondering the board."}))
    async with placed_call(thinkers=registry, limits=replace(QUIET, filler_after_s=0.05)) as call:
        await ask_chess(call)
        await until(lambda: len(call.responder.requests) == 2)
        filler = call.done(CreateReply)[-1]
    assert filler.purpose is Purpose.FILLER
    assert '"Still pondering the board."' in filler.hint


@pytest.mark.parametrize("late", ["drop", "deliver"])
@pytest.mark.parametrize("moved_on", [True, False])
async def test_an_answer_is_submitted_once_and_without_its_content_only_if_late_and_to_be_dropped(
    late: str, moved_on: bool
) -> None:
    known = asyncio.Event()

    async def think(_: Consultation) -> Answer:
        await known.wait()
        return Answer("White wins.", "model")

    registry = thinkers(chess=(think, {"late": late}))
    async with placed_call(thinkers=registry, limits=QUIET) as call:
        await ask_chess(call)
        if moved_on:
            call.live.type_text("Never mind.")
        known.set()
        await settle()
        [result] = call.done(SubmitResult)
        last = call.told("thinker")[-1]["event"]
    dropped = late == "drop" and moved_on
    assert ("White wins." in result.output) is not dropped
    assert ("dropped" in json.loads(result.output)) is dropped
    assert last == ("stale" if moved_on else "complete")
