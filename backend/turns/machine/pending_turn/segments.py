"""The rules for a segment of the caller's turn, which takes the floor and ends at the turn's first moment."""

from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.machine.actions import stop_reply
from backend.turns.machine.connection import admit_missing
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.state import TurnStage
from backend.turns.machine.pending_turn.waiting import (
    assess,
    begin_pending_turn,
    can_reopen,
    close_turn,
    commit_segment,
    join_candidate,
    only_hesitated,
    reopen,
    reopen_answered,
)
from backend.turns.machine.state import IDLE, State
from backend.turns.machine.thinkers import overtake


def take_over(s: State, now: float, onset: float) -> None:
    """Give the floor to the caller, who speaks since `onset`; a reply is cut, or forgotten if it had not sounded."""
    if s.farewell.reason == IDLE:
        s.farewell.reason = None
    if can_reopen(s, now):
        reopen(s, now)
        return
    stop_reply(s, now, suspend=True)
    utterance = s.floor.voice
    if reopen_answered(s, onset):
        s.silence.owed_since = None
        if s.barge_in.suspended:
            s.barge_in.suspended.false_start = True
    else:
        turn = begin_pending_turn(s)
        if utterance:
            turn.quiet_since, turn.reading = utterance.paused_at or 0.0, utterance.reading
    join_candidate(s)
    s.pass_floor(Floor.USER)


def end_segment(s: State, event: ev.SpeechStopped, now: float) -> None:
    """End a segment: this is the first moment of the turn, which may be over."""
    turn = s.pending.open or begin_pending_turn(s)
    turn.voiced_ms += event.voiced_ms
    turn.quiet_since = now - event.hangover_ms / 1000
    if s.line.missed or s.line.lost_at is not None:
        s.line.missed = True
        s.pending.open = None
        s.pass_floor(Floor.LISTENING)
        begin_turn(s, now, event.hangover_ms)
        admit_missing(s, now)
        return
    commit_segment(s)
    if only_hesitated(s, turn):
        assess(s, now)
        s.pass_floor(Floor.PAUSING)
        return
    if turn.begun:
        s.silence.owed_since = now
        s.note_caller(now)
        s.clock.begin(s.floor.turn, now, event.hangover_ms)
    else:
        turn.stage = TurnStage.BEGUN
        begin_turn(s, now, event.hangover_ms)
    if s.limits.answers:
        s.replies.wanted[Purpose.ANSWER] = 1
    else:
        s.silence.owed_since = None
    assess(s, now)
    if s.floor.holder is Floor.ASSISTANT:
        turn.over_at = now
    if turn.over_at <= now:
        floor = s.floor.holder
        close_turn(s, now)
        if floor is Floor.ASSISTANT:
            s.pass_floor(floor)
    else:
        s.pass_floor(Floor.PAUSING)


def answer_hesitation(s: State, now: float) -> None:
    """Make a turn of an utterance classified as "um": its transcript says otherwise, or does not come."""
    turn = s.pending.open
    if turn:
        turn.reading = None
        end_segment(s, ev.SpeechStopped(0, round((now - turn.quiet_since) * 1000)), now)


def begin_turn(s: State, now: float, hangover_ms: int) -> None:
    """Begin a new turn; the work for the last one is stale from now on."""
    s.floor.turn += 1
    s.pending.answered = None
    s.notices.opened = True
    overtake(s)
    s.replies.wanted.clear()
    s.replies.refusals = 0
    s.silence.owed_since = now
    s.note_caller(now)
    s.clock.begin(s.floor.turn, now, hangover_ms)
