"""A Thinker that works during a call: the filler, late answers, and cancellation."""

import asyncio
import json
from dataclasses import replace

import pytest

from backend.errors import BadRequest, NotFound
from backend.thinkers.base import Answer
from backend.thinkers.run import ThinkerRun
from backend.turns import events as ev
from backend.turns.commands import AddNote, CreateReply, Purpose, SubmitResult
from backend.turns.limits import TurnLimits
from tests.call.world import PlacedCall, placed_call, settle, thinkers
from tests.support.waiting import until

QUIET = TurnLimits(idle_nudge_s=0, idle_disconnect_s=0, filler_after_s=0)


async def ask_chess(call: PlacedCall) -> None:
    """Type a question that the Responder routes to the Thinker."""
    call.live.type_text("Who wins?")
    await settle()
    await call.call_thinker("chess", "who wins")


async def test_a_filler_has_the_words_of_the_working_thinker() -> None:
    async def think(_: ThinkerRun) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    registry = thinkers(chess=(think, {"filler": "Still pondering the board."}))
    async with placed_call(thinkers=registry, limits=replace(QUIET, filler_after_s=0.05)) as call:
        await ask_chess(call)
        await until(lambda: len(call.responder.requests) == 2)
        filler = call.done(CreateReply)[-1]
    assert filler.purpose is Purpose.FILLER
    assert '"Still pondering the board."' in filler.hint


@pytest.mark.parametrize("moved_on", [True, False])
async def test_a_late_answer_is_submitted_without_its_content(moved_on: bool) -> None:
    known = asyncio.Event()

    async def think(_: ThinkerRun) -> Answer:
        await known.wait()
        return Answer("White wins.", "model")

    registry = thinkers(chess=think)
    async with placed_call(thinkers=registry, limits=QUIET) as call:
        await ask_chess(call)
        if moved_on:
            call.live.type_text("And who plays?")
        known.set()
        await settle()
        [result] = call.done(SubmitResult)
        last = call.events_of("thinker")[-1]["event"]
    assert ("White wins." in result.output) is not moved_on
    assert last == ("stale" if moved_on else "complete")


async def test_a_caller_can_ask_for_a_late_answer() -> None:
    known = asyncio.Event()

    async def think(_: ThinkerRun) -> Answer:
        await known.wait()
        return Answer("White wins.", "model")

    registry = thinkers(chess=think)
    async with placed_call(thinkers=registry, limits=QUIET) as call:
        await ask_chess(call)
        with pytest.raises(BadRequest):
            call.live.say_answer("c1")
        call.live.type_text("And who plays?")
        request = call.responder.requests[-1].request
        call.responder.say(
            ev.ReplyStarted("r2", request), ev.ReplyAudio("r2", "i2", bytes(960)), ev.ReplyFinished("r2", "completed")
        )
        known.set()
        await until(lambda: call.events_of("thinker")[-1]["event"] == "stale")
        call.live.say_answer("c1")
        await until(lambda: call.responder.requests[-1].purpose is Purpose.RESULT)
        [note] = call.done(AddNote)
        with pytest.raises(BadRequest):
            call.live.say_answer("c1")
        with pytest.raises(NotFound):
            call.live.say_answer("c2")
    assert json.loads(note.text)["answer"] == "White wins."


async def test_a_caller_can_cancel_a_thinker() -> None:
    stopped = asyncio.Event()

    async def think(_: ThinkerRun) -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    async with placed_call(thinkers=thinkers(chess=(think, {})), limits=QUIET) as call:
        await ask_chess(call)
        call.live.cancel_thinker("c1")
        await asyncio.wait_for(stopped.wait(), 20)
        with pytest.raises(BadRequest):
            call.live.cancel_thinker("c1")
        with pytest.raises(NotFound):
            call.live.cancel_thinker("c2")
        [result] = call.done(SubmitResult)
        last = call.events_of("thinker")[-1]
    assert "cancelled" in json.loads(result.output)
    assert (last["event"], last["domain"], last["query"]) == ("cancelled", "chess", "who wins")


@pytest.mark.parametrize("unsure", [True, False])
async def test_a_thinker_learns_that_the_transcript_is_unsure(unsure: bool) -> None:
    rights = []

    async def think(run: ThinkerRun) -> Answer:
        rights.append(run.question.rights)
        return Answer("Noted.", "model")

    async with placed_call(thinkers=thinkers(chess=(think, {})), limits=QUIET) as call:
        await call.speak(40, then_silent=30)
        call.responder.say(ev.InputCommitted("u1"), ev.UserTranscribed("u1", "note by milk", unsure=unsure))
        await until(lambda: bool(call.responder.requests))
        await call.call_thinker("chess", "note by milk")
        await until(lambda: bool(rights))
    assert [each.unsure for each in rights] == [unsure]
