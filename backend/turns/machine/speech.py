"""The caller's speech and typed words: each may be a cough, a murmur, an interruption, noise, or a piece of a turn."""

from __future__ import annotations

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.machine import overlap
from backend.turns.machine.moves import end_suspicion, forget_input, hold, release_hold
from backend.turns.machine.open_turn import (
    commit_piece,
    is_early,
    note_pause,
    note_rest,
    open_turn,
    reassess,
    reopen,
)
from backend.turns.machine.pieces import answer_hesitation, end_piece, take_over
from backend.turns.machine.state import IDLE, Deadlines, Floor, State, Utterance

READABLE_MS = {Floor.HELD: 1200, Floor.USER: 700}
"""Speech longer than this is not a short utterance, and is not read. A reading costs 20 to 30 ms of a processor: while
the caller has the floor only what may be "yes" or "um" is worth it."""
READ_WITHIN_S = 0.06
"""The time a reading may take before a piece is committed without it."""
ASIDE = "aside"
"""The kind of murmur that is words for somebody else."""
FRAME_S = 0.02
"""A pause is reported with its first silent frame."""


# --- the voice ------------------------------------------------------------------------------------------


def on_started(s: State, now: float, murmured_ms: int = 0) -> None:
    """Turn down or hold what is being played until it is clear whether the voice takes the floor.

    `murmured_ms` of the voice do not count.
    """
    if s.floor in (Floor.USER, Floor.CLOSED) or s.leaving not in (None, IDLE):
        return
    s.utterance = Utterance(now, now, voiced_ms=murmured_ms, murmured_ms=murmured_ms)
    if s.floor in (Floor.PAUSING, Floor.HELD) or (s.floor is Floor.ASSISTANT and not s.may_interrupt):
        return
    if not s.something_to_interrupt:
        open_turn(s)
        s.pass_floor(Floor.USER)
        return
    hold(s)
    if s.limits.interruption_min_ms == 0:
        take_over(s, now, now)


def on_suspected(s: State, suspected: bool) -> None:
    """Turn down what is being played for a voice that may be beginning, and up again where none began.

    While the caller pauses, nothing is played yet: the reply is kept back for a moment longer.
    """
    if s.open:
        s.open.suspected = suspected and s.floor is Floor.PAUSING
    if not suspected:
        end_suspicion(s)
    elif s.floor is Floor.ASSISTANT and s.may_interrupt and s.may_duck and s.utterance is None:
        s.suspected = True
        s.commands.append(do.DuckPlayback())


def on_paused(s: State, voiced_ms: int, now: float) -> None:
    """Note how long the voice has sounded: it fell silent, perhaps for a breath."""
    if s.utterance:
        s.utterance.running_since = None
        s.utterance.voiced_ms = voiced_ms
        s.utterance.paused_at = now
        s.utterance.asked_to_read = False
    if s.floor is Floor.USER and s.open:
        s.open.quiet_since = now - FRAME_S
        note_rest(s, voiced_ms)


def on_resumed(s: State, voiced_ms: int, now: float) -> None:
    """Note that the voice goes on, and since when."""
    if s.utterance is None:  # it was taken for over: see `_commit`
        on_started(s, now, murmured_ms=voiced_ms)
        return
    s.utterance.running_since = now
    s.utterance.voiced_ms = voiced_ms
    s.utterance.paused_at = None
    s.utterance.committed = False
    if s.floor is Floor.USER and s.open:
        note_pause(s, now)
        s.open.uncommitted = True
        s.open.reading = None
    elif s.floor is Floor.ASSISTANT and s.may_interrupt and not s.utterance.muffled:
        hold(s)


def on_muffled(s: State, muffled: bool, now: float) -> None:
    """Let the reply go on while a voice sounds like somebody else's, and hold it again when it is the caller's."""
    utterance = s.utterance
    if utterance is None or not s.playing:
        return
    utterance.muffled = muffled
    if muffled and s.floor is Floor.HELD:
        s.publish(page.MurmurHeard(ASIDE, ""))
        release_hold(s)
    elif not muffled and s.floor is Floor.ASSISTANT and s.may_interrupt and utterance.running_since is not None:
        utterance.voiced_ms += round((now - utterance.running_since) * 1000)
        utterance.running_since, utterance.murmured_ms = now, utterance.voiced_ms
        hold(s)


def on_stopped(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Decide what the speech was: a cough, a murmur, noise, or a piece of a turn."""
    utterance, s.utterance = s.utterance, None
    if s.floor is Floor.CLOSED or (utterance is None and s.floor not in (Floor.USER, Floor.HELD)):
        return
    s.last_voice_at = now
    counted_ms = event.voiced_ms - (utterance.murmured_ms if utterance else 0)
    match s.floor:
        case Floor.USER:
            if event.voiced_ms < s.limits.turn_min_ms and not (s.open and s.open.begun):
                forget_input(s)
                s.open = None
                s.pass_floor(Floor.LISTENING)
            else:
                end_piece(s, event, now)
        case Floor.HELD:
            unread = utterance is None or utterance.reading is None or utterance.reading.kind is None
            if unread and counted_ms < min(s.limits.interruption_min_ms, s.limits.cough_max_ms):
                forget_input(s)
                release_hold(s)
            elif not (s.overlap and utterance and utterance.committed):  # else its transcript decides
                overlap.adopt(s, now, event)
        case Floor.PAUSING if counted_ms >= s.limits.turn_min_ms:
            reopen(s, now)
            end_piece(s, event, now)
        case Floor.ASSISTANT if not s.may_interrupt and counted_ms >= s.limits.cough_max_ms:
            open_turn(s)  # it is answered after what must be heard to its end
            end_piece(s, event, now)
        case _:
            forget_input(s)


def on_read(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Note what was read of a short utterance; over a reply, act on it."""
    utterance = s.utterance
    if event.partial or (utterance is not None and utterance.paused_at is None):
        overlap.on_read_partly(s, event, now)  # the voice goes on: what was read is not all of it
        return
    if s.floor is Floor.PAUSING and s.open and utterance is None and s.open.pieces <= 1:
        s.open.reading = event
        reassess(s, now)
    if utterance is None:
        overlap.on_read(s, event, now)
    else:
        utterance.reading = event
        if s.floor is Floor.USER and s.open:
            s.open.reading = event
        overlap.on_read(s, event, now)


def deadlines(s: State) -> Deadlines:
    """Yield when a voice that keeps on takes the floor or goes on with the turn, and what is done in its pauses."""
    utterance, limits = s.utterance, s.limits
    if utterance is None:
        unheard = s.floor is Floor.PAUSING and s.open and not s.open.begun and s.open.pieces
        if unheard and s.open and not s.open.words.complete:
            yield s.open.over_at, answer_hesitation
        return
    if s.floor is Floor.HELD:
        goes_on = s.open is not None  # with a turn whose answer has not sounded
        needed_ms = min(limits.cough_max_ms, limits.interruption_min_ms) if goes_on else limits.interruption_min_ms
        needed_ms = max(needed_ms, utterance.may_last_ms)
        taken_over_at = utterance.reaches(needed_ms)
        if taken_over_at is not None:
            yield taken_over_at, overlap.adopt
        for read_at_ms in limits.read_partly_at_ms[utterance.partial_readings :][:1]:
            read_at = utterance.reaches(read_at_ms)
            if read_at is not None and s.ducked and limits.reader:
                yield read_at, _read_partly
    elif s.floor is Floor.PAUSING:
        resumed_at = utterance.reaches(limits.turn_min_ms)
        if resumed_at is not None:
            yield resumed_at, reopen
    if utterance.paused_at is None or s.floor not in (Floor.HELD, Floor.USER):
        return
    read = _is_readable(s, utterance)
    if read and not utterance.asked_to_read:
        after_ms = limits.read_over_reply_after_ms if s.floor is Floor.HELD else limits.read_after_ms
        yield utterance.paused_at + after_ms / 1000 - FRAME_S, _read
    if s.floor is Floor.USER and s.open and s.open.uncommitted and is_early(s):
        waits_for_reading = read and s.open.pieces == 0 and utterance.reading is None
        if utterance.voiced_ms >= limits.turn_min_ms:
            after_s = limits.commit_after_ms / 1000 - FRAME_S
            if waits_for_reading:
                after_s = max(after_s, limits.read_after_ms / 1000 - FRAME_S + READ_WITHIN_S)
            yield utterance.paused_at + after_s, _commit


def _commit(s: State, now: float) -> None:
    """Commit a piece; if it cut a reply, end it as well: whether the reply goes on must be known soon."""
    commit_piece(s)
    utterance = s.utterance
    if s.parked is not None and utterance and utterance.paused_at is not None:
        quiet_ms = round((now - utterance.paused_at + FRAME_S) * 1000)
        s.utterance, s.last_voice_at = None, now
        end_piece(s, ev.SpeechStopped(utterance.voiced_ms, quiet_ms), now)


def _is_readable(s: State, utterance: Utterance) -> bool:
    voiced_ms = utterance.voiced_ms - utterance.murmured_ms
    begins = s.floor is Floor.HELD or (s.open is not None and s.open.pieces == 0)
    return s.limits.reader and begins and s.limits.turn_min_ms <= voiced_ms <= READABLE_MS[s.floor]


def _read_partly(s: State, now: float) -> None:
    if s.utterance:
        s.utterance.partial_readings += 1
        s.commands.append(do.ReadUtterance(partial=True))


def _read(s: State, now: float) -> None:
    if s.utterance:
        s.utterance.asked_to_read = True
        s.utterance.reading = None
        s.commands.append(do.ReadUtterance())
