"""The rules for the caller's voice: a cough, a murmur, an interruption, noise, or a segment of a turn."""

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.limits import (
    COMMIT_AFTER_MS,
    READ_AFTER_MS,
    READ_OVER_REPLY_AFTER_MS,
    READ_PARTLY_AT_MS,
    TURN_MIN_MS,
)
from backend.turns.machine.actions import forget_input, hold, release_hold
from backend.turns.machine.barge_in import candidate
from backend.turns.machine.barge_in.state import BargeIn
from backend.turns.machine.floor.state import Floor, Utterance
from backend.turns.machine.pending_turn.segments import answer_hesitation, end_segment, take_over
from backend.turns.machine.pending_turn.waiting import (
    begin_pending_turn,
    commit_segment,
    is_early,
    note_pause,
    note_rest,
    reopen,
)
from backend.turns.machine.state import IDLE, Deadlines, State

READABLE_MS = {Floor.HELD: 1200, Floor.USER: 700}
"""The longest speech that is a short utterance, and is classified. A reading costs 20 to 30 ms of a processor: while
the caller has the floor, only an utterance that may be "yes" or "um" is worth it."""
READ_WITHIN_S = 0.06
"""The time that a reading may take before a segment is committed without it."""
FRAME_S = 0.02
"""The length of a frame: a pause is reported with its first silent frame."""


# --- the onset ------------------------------------------------------------------------------------------


def on_onset(s: State, event: ev.SpeechStarted, now: float) -> None:
    """Give the voice the floor if it is free, or hold the reply that is on its way."""
    _begin(s, now)


def on_onset_over_reply(s: State, event: ev.SpeechStarted, now: float) -> None:
    """Turn down or hold the reply until it is clear whether the voice takes the floor."""
    _begin_over_reply(s, now)


def on_onset_in_pause(s: State, event: ev.SpeechStarted, now: float) -> None:
    """Note a voice in a pause, which may or may not go on with the turn."""
    _note_voice(s, now)


def _begin(s: State, now: float, murmured_ms: int = 0) -> None:
    """Note a voice and give it the floor, or hold the reply for it; `murmured_ms` of it do not count."""
    if not _note_voice(s, now, murmured_ms):
        return
    if not s.something_to_interrupt:
        begin_pending_turn(s)
        s.pass_floor(Floor.USER)
        return
    hold(s)
    if s.limits.interruption_min_ms == 0:
        take_over(s, now, now)


def _begin_over_reply(s: State, now: float, murmured_ms: int = 0) -> None:
    (_begin if s.may_interrupt else _note_voice)(s, now, murmured_ms)


def _note_voice(s: State, now: float, murmured_ms: int = 0) -> bool:
    """Note that a voice sounds; return False if the call is about to end, when no voice counts."""
    if s.farewell.reason not in (None, IDLE):
        return False
    s.floor.voice = Utterance(now, now, voiced_ms=murmured_ms, murmured_ms=murmured_ms)
    return True


# --- pauses within an utterance -------------------------------------------------------------------------


def on_paused(s: State, event: ev.SpeechPaused, now: float) -> None:
    """Note how long a voice has sounded that fell silent, perhaps for a breath."""
    voice = s.floor.voice
    if voice:
        voice.running_since = None
        voice.voiced_ms = event.voiced_ms
        voice.paused_at = now
        voice.asked_to_read = False


def on_paused_in_turn(s: State, event: ev.SpeechPaused, now: float) -> None:
    """Note how long the voice has sounded, and that the turn may be over."""
    on_paused(s, event, now)
    if s.pending.open:
        s.pending.open.quiet_since = now - FRAME_S
        note_rest(s, event.voiced_ms)


def on_resumed(s: State, event: ev.SpeechResumed, now: float) -> None:
    """Note that the voice goes on; a voice that had been taken as over begins again."""
    if not _goes_on(s, event.voiced_ms, now):
        _begin(s, now, event.voiced_ms)


def on_resumed_in_pause(s: State, event: ev.SpeechResumed, now: float) -> None:
    """Note that the voice goes on, while it is not known whether it goes on with the turn."""
    if not _goes_on(s, event.voiced_ms, now):
        _note_voice(s, now, event.voiced_ms)


def on_resumed_in_turn(s: State, event: ev.SpeechResumed, now: float) -> None:
    """Note that the turn goes on, and that there is more to commit."""
    if _goes_on(s, event.voiced_ms, now) and s.pending.open:
        note_pause(s, now)
        s.pending.open.uncommitted = True
        s.pending.open.reading = None


def on_resumed_over_reply(s: State, event: ev.SpeechResumed, now: float) -> None:
    """Hold the reply again, unless it must be heard to its end or the voice is another person's."""
    if not _goes_on(s, event.voiced_ms, now):
        _begin_over_reply(s, now, event.voiced_ms)
    elif s.may_interrupt and s.floor.voice and not s.floor.voice.off_axis:
        hold(s)


def _goes_on(s: State, voiced_ms: int, now: float) -> bool:
    """Note that the voice sounds again, and since when; return False if `_commit` has ended its segment already."""
    voice = s.floor.voice
    if voice is None:
        return False
    voice.running_since = now
    voice.voiced_ms = voiced_ms
    voice.paused_at = None
    voice.committed = False
    return True


# --- the end of an utterance ----------------------------------------------------------------------------


def on_stopped_in_turn(s: State, event: ev.SpeechStopped, now: float) -> None:
    """End a segment of the turn; speech that is too short for a segment was noise."""
    s.floor.voice, s.floor.last_voice_at = None, now
    if event.voiced_ms < TURN_MIN_MS and not (s.pending.open and s.pending.open.begun):
        forget_input(s)
        s.pending.open = None
        s.pass_floor(Floor.LISTENING)
    else:
        end_segment(s, event, now)


def on_stopped_over_held_reply(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Let the reply go on after a cough; other speech takes the floor, unless its transcript is to decide."""
    voice, s.floor.voice, s.floor.last_voice_at = s.floor.voice, None, now
    counted_ms = event.voiced_ms - (voice.murmured_ms if voice else 0)
    unread = voice is None or voice.reading is None or voice.reading.kind is None  # then its length decides
    if unread and counted_ms < min(s.limits.interruption_min_ms, s.limits.cough_max_ms):
        forget_input(s)
        release_hold(s)
    elif not (s.barge_in.candidate and voice and voice.committed):  # a committed one has a transcript to come
        candidate.adopt(s, now, event)


def on_stopped_in_pause(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Go on with the turn, unless the sound was noise."""
    counted_ms = _stop(s, event, now)
    if counted_ms is None:
        return
    if counted_ms >= TURN_MIN_MS:
        reopen(s, now)
        end_segment(s, event, now)
    else:
        forget_input(s)


def on_stopped_over_reply(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Keep speech over a protected reply as a turn that is answered after it; forget all other speech."""
    counted_ms = _stop(s, event, now)
    if counted_ms is None:
        return
    if not s.may_interrupt and counted_ms >= s.limits.cough_max_ms:
        begin_pending_turn(s)
        end_segment(s, event, now)
    else:
        forget_input(s)


def on_stopped(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Forget speech that has not taken the floor."""
    if _stop(s, event, now) is not None:
        forget_input(s)


def _stop(s: State, event: ev.SpeechStopped, now: float) -> int | None:
    """Note the end of the voice; return how long it has sounded without murmurs, or None if no voice was noted."""
    voice, s.floor.voice = s.floor.voice, None
    if voice is None:
        return None
    s.floor.last_voice_at = now
    return event.voiced_ms - voice.murmured_ms


# --- readings, and what becomes due ---------------------------------------------------------------------


def on_read(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Note the reading of the whole utterance while it pauses."""
    voice = s.floor.voice
    if voice and not event.partial and voice.paused_at is not None:
        voice.reading = event


def deadlines(s: State) -> Deadlines:
    """Yield when a continuing voice takes the floor or goes on with the turn, and what becomes due in its pauses."""
    voice, holder, turn = s.floor.voice, s.floor.holder, s.pending.open
    if voice is None:
        unheard = holder is Floor.PAUSING and turn and not turn.begun and turn.segments
        if unheard and turn and not turn.words.complete:
            yield turn.over_at, answer_hesitation  # classified as "um", and its transcript does not come
        return
    if holder is Floor.HELD:
        yield from _deadlines_over_reply(s, voice)
    elif holder is Floor.PAUSING:
        resumed_at = voice.reaches(TURN_MIN_MS)
        if resumed_at is not None:
            yield resumed_at, reopen
    if voice.paused_at is not None and holder in (Floor.HELD, Floor.USER):
        yield from _deadlines_in_pause(s, voice, voice.paused_at)


def _deadlines_over_reply(s: State, voice: Utterance) -> Deadlines:
    limits = s.limits
    goes_on = s.pending.open is not None  # with a turn before its answer has sounded
    needed_ms = min(limits.cough_max_ms, limits.interruption_min_ms) if goes_on else limits.interruption_min_ms
    taken_over_at = voice.reaches(max(needed_ms, voice.may_last_ms))
    if taken_over_at is not None:
        yield taken_over_at, candidate.adopt
    for read_at_ms in READ_PARTLY_AT_MS[voice.partial_readings :][:1]:
        read_at = voice.reaches(read_at_ms)
        if read_at is not None and s.barge_in.phase is BargeIn.DUCKED and limits.reader:
            yield read_at, _read_partly  # while the reply plays on, turned down, "stop" must not wait


def _deadlines_in_pause(s: State, voice: Utterance, paused_at: float) -> Deadlines:
    read = _is_readable(s, voice)
    if read and not voice.asked_to_read:
        after_ms = READ_OVER_REPLY_AFTER_MS if s.floor.holder is Floor.HELD else READ_AFTER_MS
        yield paused_at + after_ms / 1000 - FRAME_S, _read
    turn = s.pending.open
    if s.floor.holder is not Floor.USER or turn is None or not turn.uncommitted or not is_early(s):
        return  # nothing more to commit, or not before the utterance is over
    if voice.voiced_ms >= TURN_MIN_MS:
        after_s = COMMIT_AFTER_MS / 1000 - FRAME_S
        if read and turn.segments == 0 and voice.reading is None:  # the reading may say that it was "um"
            after_s = max(after_s, READ_AFTER_MS / 1000 - FRAME_S + READ_WITHIN_S)
        yield paused_at + after_s, _commit


def _commit(s: State, now: float) -> None:
    """Commit a segment; if it cut a reply, end the segment as well, to know soon whether the reply goes on."""
    commit_segment(s)
    voice = s.floor.voice
    if s.barge_in.suspended is not None and voice and voice.paused_at is not None:
        quiet_ms = round((now - voice.paused_at + FRAME_S) * 1000)  # since the last frame that sounded
        s.floor.voice, s.floor.last_voice_at = None, now
        end_segment(s, ev.SpeechStopped(voice.voiced_ms, quiet_ms), now)


def _is_readable(s: State, voice: Utterance) -> bool:
    """Return whether the utterance is to be classified: it is short, and begins a turn or sounds over a reply."""
    voiced_ms = voice.voiced_ms - voice.murmured_ms  # a murmur was classified already
    begins = s.floor.holder is Floor.HELD or (s.pending.open is not None and s.pending.open.segments == 0)
    return s.limits.reader and begins and TURN_MIN_MS <= voiced_ms <= READABLE_MS[s.floor.holder]


def _read_partly(s: State, now: float) -> None:
    if s.floor.voice:
        s.floor.voice.partial_readings += 1
        s.commands.append(do.ReadUtterance(partial=True))


def _read(s: State, now: float) -> None:
    if s.floor.voice:
        s.floor.voice.asked_to_read = True
        s.floor.voice.reading = None
        s.commands.append(do.ReadUtterance())
