"""Thinkers at work for the caller: their calls, their answers in time or late, and those the caller waves away."""

from __future__ import annotations

import json

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation import page_events as page
from backend.conversation.commands import Purpose
from backend.conversation.machine.state import IDLE, Floor, State, ToolCallEntry

DISMISSED = json.dumps({"cancelled": "The caller has cancelled this question. At most say that it is all right."})
"""What the Responder is told of such a call."""
OVERTAKEN = json.dumps({"error": "cancelled: the caller took the floor"})
"""And of one that came from a reply nobody wants any more."""


def on_tool_called(s: State, event: ev.ToolCalled, now: float) -> None:
    """The reply wants something looked up."""
    call = s.calls.open(event.call, event.reply, s.turn, now)
    if call is None:
        return
    reply = s.streaming(event.reply)
    if reply is None:
        s.calls.answer(event.call)
        s.calls.settle(event.call)
        s.out.append(do.SubmitResult(event.call, OVERTAKEN))
        return
    reply.called = True
    reply.since = now
    s.out.append(do.RunThinker(event.call, event.name, event.arguments))


def on_finished(s: State, call_id: str, output: str) -> None:
    """A Thinker has its answer."""
    _answered(s, call_id, output, "complete")


def on_failed(s: State, call_id: str, reason: str) -> None:
    """A Thinker has none; that is an answer, too."""
    _answered(s, call_id, json.dumps({"error": reason}), "failed")


def on_dismissed(s: State, call_id: str, now: float) -> None:
    """The caller does not want to know any more."""
    call = s.calls.answer(call_id)
    if call is None:
        return
    s.calls.settle(call_id)
    s.out.append(do.CancelThinker(call_id))
    if not call.orphaned:
        s.out.append(do.SubmitResult(call_id, DISMISSED))
    s.publish(page.ThinkerChanged(call_id, "cancelled"))
    s.caller_is_here(now)
    silent = s.owed_since is not None and not s.calls.running(s.turn)
    group_over = call.turn == s.turn and s.calls.group_done(call.group)
    if group_over and (silent or s.calls.has_answers(call.group)):
        s.want(Purpose.RESULT)


def on_late_answer_wanted(s: State, call_id: str, output: str, now: float) -> None:
    """The caller asks for an answer that came too late. While they speak, it comes after the answer to that."""
    if s.leaving not in (None, IDLE) or call_id in s.asked_for or not s.calls.is_stale(call_id):
        return
    speaking = s.floor in (Floor.USER, Floor.HELD)
    s.asked_for[call_id] = output, s.turn + speaking
    s.publish(page.ThinkerChanged(call_id, "complete"))
    s.caller_is_here(now)


def hand_in_asked_for(s: State) -> None:
    """The late answers the caller asked for, right before the reply that speaks them."""
    for call, (output, _) in s.asked_for.items():
        s.out.append(do.AddNote(output))
        s.calls.settle(call)
    s.asked_for.clear()


def overtake(s: State) -> None:
    """A new turn has begun: what nobody has heard by now is stale."""
    overtaken = [call for call, (_, turn) in s.asked_for.items() if turn < s.turn]
    for call in overtaken:
        del s.asked_for[call]
    for call in (*s.calls.lapse_answered(), *overtaken):
        s.publish(page.ThinkerChanged(call, "stale"))


def _answered(s: State, call_id: str, output: str, outcome: page.ThinkerStage) -> None:
    call = s.calls.answer(call_id)
    if call is None:
        return
    _submit(s, call, output)
    if call.turn != s.turn:
        s.calls.lapse(call_id)
        s.publish(page.ThinkerChanged(call_id, "stale"))
        return
    s.publish(page.ThinkerChanged(call_id, outcome))
    if s.calls.group_done(call.group):
        s.want(Purpose.RESULT)


def _submit(s: State, call: ToolCallEntry, output: str) -> None:
    """As the call's result; once its connection is lost, as a note."""
    if not call.orphaned:
        s.out.append(do.SubmitResult(call.call, output))
    elif s.lost_at is None:
        s.out.append(do.AddNote(output))
    else:
        s.notes.append(output)
