"""The rules for Thinkers at work: their tool calls, their answers in time or late, and dismissed calls."""

from __future__ import annotations

import json

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.machine.floor.playback import bring_back
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.late_answers import announce_later, dismiss, supersede
from backend.turns.machine.pending_turn.waiting import close_turn
from backend.turns.machine.state import IDLE, State
from backend.turns.machine.tool_calls import ToolCallEntry, ToolCallState

OVERTAKEN = json.dumps({"error": "cancelled: the caller took the floor"})
"""The result for a tool call of a reply that is no longer wanted."""


TOLD_LATER = json.dumps({"status": "The caller has moved on. Say nothing about it until you are asked to tell it."})
"""The result of a tool call that was answered late; the answer is spoken later, as a notice."""
WAITING = json.dumps({"status": "waiting for the caller"})
"""The result for `wait_for_user`."""
NOT_WAITING = json.dumps({"error": "The caller waits for your answer: give it."})
"""The result for `wait_for_user` when the caller surely waits for an answer: to typed words, or by a Thinker."""


def on_tool_called(s: State, event: ev.ToolCalled, now: float) -> None:
    """Run a Thinker for a tool call of the reply in flight; refuse calls of other replies."""
    reply = s.replies.in_flight
    if reply is None or reply.id != event.reply:
        on_overtaken(s, event, now)
        return
    call = s.calls.open(event.call, event.reply, s.floor.turn, now)
    if call is None:
        return
    if event.name == do.WAIT_FOR_USER:
        call.state = ToolCallState.SETTLED
        if s.pending.open is None:  # the reply then comes to nothing, and is asked for once more
            s.commands.append(do.SubmitResult(call.call, NOT_WAITING))
            return
        reply.called = True
        s.commands.append(do.SubmitResult(call.call, WAITING, silent=True))
        _stay_silent(s, now)
        return
    reply.called = True
    reply.since = now
    call.arguments = event.arguments
    if s.notices.waiting:
        supersede(s, call)
    turn = s.pending.open or s.pending.answered
    unsure = turn is not None and turn.words.unsure
    into_turn_ms = round((now - s.clock.began) * 1000)
    s.commands.append(do.RunThinker(event.call, event.name, event.arguments, unsure, call.turn, into_turn_ms))


def on_overtaken(s: State, event: ev.ToolCalled, now: float) -> None:
    """Answer a tool call of a reply that is no longer wanted, since the provider waits for that, too."""
    call = s.calls.open(event.call, event.reply, s.floor.turn, now)
    if call:
        call.state = ToolCallState.SETTLED
        s.commands.append(do.SubmitResult(event.call, OVERTAKEN, silent=True))


def _stay_silent(s: State, now: float) -> None:
    """Give no answer, since the speech was not meant for us; a reply that it cut goes on."""
    if s.floor.holder is Floor.PAUSING:
        close_turn(s, now)
    s.pending.open = None
    s.silence.owed_since = None
    s.clock.drop()
    s.note_caller(now)
    bring_back(s)


def on_finished(s: State, event: ev.ThinkerFinished, now: float, outcome: page.ThinkerStage = "complete") -> None:
    """Submit a Thinker's answer; it is spoken if it came in time, and otherwise when the floor is free."""
    call = s.calls.answer(event.call)
    if call is None:
        return
    if event.silent:
        call.state = ToolCallState.SETTLED
        submit(s, call, event.output, silent=True)
        return
    if call.turn != s.floor.turn:
        call.state = ToolCallState.STALE
        submit(s, call, TOLD_LATER if announce_later(s, call, event) else event.output, silent=True)
        s.publish(page.ThinkerChanged(call.call, "stale"))
        return
    submit(s, call, event.output)
    s.publish(page.ThinkerChanged(call.call, outcome))
    if ToolCallState.RUNNING not in s.calls.states_of(call.group):
        s.replies.wanted[Purpose.RESULT] = 1
    s.replies.read_out_next |= not event.interruptible


def on_failed(s: State, event: ev.ThinkerFailed, now: float) -> None:
    """Submit a Thinker's failure as its answer."""
    on_finished(s, ev.ThinkerFinished(event.call, json.dumps({"error": event.reason})), now, "failed")


def on_dismissed(s: State, event: ev.ThinkerDismissed, now: float) -> None:
    """Stop a Thinker: the caller no longer wants its answer."""
    call = s.calls.answer(event.call)
    if call is None:
        return
    dismiss(s, call)
    s.note_caller(now)
    silent = s.silence.owed_since is not None and not s.calls.running(s.floor.turn)
    states = s.calls.states_of(call.group)
    group_over = call.turn == s.floor.turn and ToolCallState.RUNNING not in states
    if group_over and (silent or ToolCallState.ANSWERED in states):
        s.replies.wanted[Purpose.RESULT] = 1  # to speak the other answers, or because a reply is still owed


def on_late_answer_wanted(s: State, event: ev.LateAnswerWanted, now: float) -> None:
    """Speak a late answer that the caller asks for; while the caller speaks, after the answer to the speech."""
    call_id = event.call
    call = s.calls.entries.get(call_id)
    is_stale = call is not None and call.state is ToolCallState.STALE
    if not is_stale or call_id in s.calls.asked_for or s.farewell.reason not in (None, IDLE):
        return  # the answer is not late, is coming already, or the call is about to end
    if s.notices.ask_for(call_id):  # it is being spoken already
        return
    s.notices.withdraw(call_id)
    speaking = s.floor.holder in (Floor.USER, Floor.HELD)
    s.calls.asked_for[call_id] = event.output, s.floor.turn + speaking
    s.publish(page.ThinkerChanged(call_id, "complete"))
    s.note_caller(now)


def hand_in_asked_for(s: State) -> None:
    """Submit the late answers that the caller asked for, right before the reply that speaks them."""
    for call, (output, _) in s.calls.asked_for.items():
        s.commands.append(do.AddNote(output))
        s.calls.entries[call].state = ToolCallState.SETTLED
    s.calls.asked_for.clear()


def overtake(s: State) -> None:
    """Mark the answers as stale that the caller has not heard by the beginning of a new turn."""
    overtaken = [call for call, (_, turn) in s.calls.asked_for.items() if turn < s.floor.turn]
    for call in overtaken:
        del s.calls.asked_for[call]
    for call in (*s.calls.move_answered(ToolCallState.STALE), *overtaken):
        s.publish(page.ThinkerChanged(call, "stale"))


def submit(s: State, call: ToolCallEntry, output: str, *, silent: bool = False) -> None:
    """Submit an answer as the tool call's result; if the call's connection was lost, as a note."""
    if not call.orphaned:
        s.commands.append(do.SubmitResult(call.call, output, silent))
    elif s.line.lost_at is None:
        s.commands.append(do.AddNote(output))
    else:
        s.line.notes.append(output)
