"""A piece of the caller's turn takes the floor, and ends at the first moment of the turn."""

from __future__ import annotations

from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.machine.connection import admit_missing
from backend.turns.machine.moves import stop_reply
from backend.turns.machine.open_turn import (
    assess,
    can_reopen,
    close_turn,
    commit_piece,
    join_overlap,
    only_hesitated,
    open_turn,
    reopen,
    reopen_answered,
)
from backend.turns.machine.state import IDLE, Floor, State
from backend.turns.machine.thinkers import overtake


def take_over(s: State, now: float, onset: float) -> None:
    """Give the floor to the caller, who speaks since `onset`: the reply is cut, or had not sounded and is forgotten."""
    if s.leaving == IDLE:
        s.leaving = None
    if can_reopen(s, now):
        reopen(s, now)
        return
    stop_reply(s, now, park=True)
    utterance = s.utterance
    if reopen_answered(s, onset):
        s.owed_since = None
        if s.parked:
            s.parked.false_start = True
    else:
        turn = open_turn(s)
        if utterance:
            turn.quiet_since, turn.reading = utterance.paused_at or 0.0, utterance.reading
    join_overlap(s)
    s.pass_floor(Floor.USER)


def end_piece(s: State, event: ev.SpeechStopped, now: float) -> None:
    """End an utterance: the first moment of the turn, which may be over."""
    turn = s.open or open_turn(s)
    turn.voiced_ms += event.voiced_ms
    turn.quiet_since = now - event.hangover_ms / 1000
    turn.ending = event.ending
    if s.missed or s.lost_at is not None:
        s.missed = True
        s.open = None
        s.pass_floor(Floor.LISTENING)
        begin_turn(s, now, event.hangover_ms)
        admit_missing(s, now)
        return
    commit_piece(s)
    if only_hesitated(s, turn):
        assess(s, now)
        s.pass_floor(Floor.PAUSING)
        return
    if turn.begun:
        s.owed_since = now
        s.note_caller(now)
        s.clock.begin(s.turn, now, event.hangover_ms)
    else:
        turn.begun = True
        begin_turn(s, now, event.hangover_ms)
    if s.answers:
        s.want(Purpose.ANSWER)
    else:
        s.owed_since = None
    assess(s, now)
    if s.floor is Floor.ASSISTANT:
        turn.over_at = now
    if turn.over_at <= now:
        floor = s.floor
        close_turn(s, now)
        if floor is Floor.ASSISTANT:
            s.pass_floor(floor)
    else:
        s.pass_floor(Floor.PAUSING)


def answer_hesitation(s: State, now: float) -> None:
    """Take for a turn what was read as "um": its transcript says otherwise, or does not come."""
    turn = s.open
    if turn:
        turn.reading = None
        end_piece(s, ev.SpeechStopped(0, round((now - turn.quiet_since) * 1000), turn.ending), now)


def begin_turn(s: State, now: float, hangover_ms: int) -> None:
    """Begin a new turn: what was under way for the last one is stale from here on."""
    s.turn += 1
    s.answered = None
    s.opened = True
    overtake(s)
    s.wanted.clear()
    s.refusals = 0
    s.owed_since = now
    s.note_caller(now)
    s.clock.begin(s.turn, now, hangover_ms)
