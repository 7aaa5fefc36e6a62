"""The rules of a turn that may go on: its segments, its two moments, and the reply prepared for it."""

import json

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.end_of_turn import EndpointingStyle, PauseContext, TurnWait, end_of_turn_wait
from backend.turns.limits import TURN_MIN_MS
from backend.turns.machine.actions import cancel_reply, forget_input, forget_words, settle_words, stop_reply
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.state import PendingTurn, Standing
from backend.turns.machine.reply.state import Phase
from backend.turns.machine.state import Deadlines, State
from backend.turns.machine.tool_calls import ToolCallState
from backend.turns.utterances import UtteranceKind, kind_of

CREDIT_PER_TURN = 0.4
CREDIT_MAX = 2.0
DISCARDED_PER_TURN = 2
WHOLE_TURNS = 3
"""Turns in a row without a pause after which the next one is expected to have none; a call begins with that many."""
LONG_TURN_MS = 2700
"""The speech after which a pause is more likely the end of a turn than not."""
PREPARE_WAIT_MS = 960
"""The longest wait for which a reply is prepared; a turn with a longer one will probably go on."""
RELEASE_MS = 15
"""The time before the end of the wait at which a prepared reply is released: the next media slot comes within 20 ms."""
HINTED_S = 0.1
"""The most by which an onset hint keeps a turn open. Of 456 segments that followed a pause half began with a frame near
the caller's level 5 ms after the onset, and the detector was sure of half after 34 ms, of 95 % after 103. Nothing
sounded so near in the 795 silences around them."""
RESUME_WITHIN_S = 2.0
"""Seconds after the caller's last sound in which speech goes on with a turn that has no audible answer yet."""
FALSE_START_WITHIN_S = 1.2
"""Seconds after the answer's first sound in which speech goes on with the turn; reactions come later."""
HESITATION_WAIT_MS = 2500
"""The time in which a caller who has only said "um" may go on."""
SHORTEST_PAUSE_MS = 150
"""Silences shorter than this belong to words."""
MAX_DEFERRED_BYTES = 60 * 48_000
"""The most audio of a prepared reply that is kept, a minute; a longer reply is asked for again."""
NOT_WORDS = frozenset({UtteranceKind.HESITATION, UtteranceKind.NOISE})
THROWN_AWAY = json.dumps({"error": "cancelled: the caller went on speaking"})
"""The result for a tool call of a prepared reply."""


def begin_pending_turn(s: State) -> PendingTurn:
    """Begin a spoken turn of the caller, which is collected segment by segment."""
    s.pending.open = PendingTurn()
    return s.pending.open


def note_pause(s: State, now: float) -> None:
    """Note the length of a pause after which the caller has gone on."""
    if s.pending.open and s.pending.open.quiet_since:
        pause_ms = round((now - s.pending.open.quiet_since) * 1000)
        if pause_ms >= SHORTEST_PAUSE_MS:
            s.pending.pauses_ms.append(pause_ms)


def commit_segment(s: State) -> None:
    """Commit the speech since the last segment, so that its words are known early."""
    turn = s.pending.open
    if turn is None or not turn.uncommitted:
        return
    if turn.segments == 0:
        s.pending.words.append(turn.words)
    turn.uncommitted = False
    turn.words.segments += 1
    if s.limits.endpointing == "local":
        s.commands.append(do.CommitInput())


def note_rest(s: State, sounded_ms: int) -> None:
    """Note how long a partly committed voice has sounded; enough new speech is to be committed, too."""
    voice = s.floor.voice
    if s.pending.open and voice and voice.committed_ms is not None and sounded_ms - voice.committed_ms >= TURN_MIN_MS:
        voice.committed_ms = None
        s.pending.open.uncommitted = True


def join_candidate(s: State) -> None:
    """Make the candidate that was committed over a reply a segment of the open turn."""
    candidate, s.barge_in.candidate, turn = s.barge_in.candidate, None, s.pending.open
    if candidate is None or turn is None:
        return
    turn.uncommitted = s.floor.voice is not None and not s.floor.voice.committed
    candidate.words.standing = Standing.TURN
    if turn.segments:
        s.pending.words.remove(candidate.words)
        turn.words.take_in(candidate.words)
    else:
        turn.words = candidate.words
        if turn.words.items:
            s.publish(page.UserItemAdded(turn.words.id))


def only_hesitated(s: State, turn: PendingTurn) -> bool:
    """Return whether the turn is only "um" as far as is known; a transcript has the last word."""
    if turn.begun or turn.reading is None or turn.reading.kind not in NOT_WORDS:
        return False  # more was said before, or words were found
    words = _words_known(s, turn)
    return words is None or kind_of(words) in NOT_WORDS


def assess(s: State, now: float) -> None:
    """Decide when the turn is believed over, with all that is known now."""
    turn = s.pending.open
    if turn is None:
        return
    if s.limits.endpointing == "provider":
        turn.wait = TurnWait(0, "provider")  # it has judged by meaning already
    elif only_hesitated(s, turn):
        turn.wait = TurnWait(HESITATION_WAIT_MS, "hesitation")
    else:
        turn.wait = end_of_turn_wait(
            PauseContext(
                words=_words_known(s, turn),
                expected=s.pending.expected,
                caller_pauses_ms=tuple(s.pending.pauses_ms),
                sentence_end=turn.sentence_end,
                reading=turn.reading.words if turn.reading and turn.segments <= 1 else None,
            ),
            s.limits.style,
        )
    turn.over_at = turn.quiet_since + max(0, turn.wait.wait_ms - RELEASE_MS) / 1000


def _words_known(s: State, turn: PendingTurn) -> str | None:
    """Return the words of all segments so far; None while some are not transcribed."""
    return (turn.words.text or None) if turn.segments and turn.words.complete else None


def reassess(s: State, now: float) -> None:
    """Decide again when the turn is believed over, if it may be."""
    if s.floor.holder is Floor.PAUSING and s.pending.open:
        assess(s, now)
        s.pending.open.over_at = max(s.pending.open.over_at, now)


def may_prepare(s: State) -> bool:
    """Return whether a reply may be asked for although the turn may go on: `table` says why."""
    turn = s.pending.open
    if turn is None or s.floor.voice or only_hesitated(s, turn) or turn.prepared.discarded >= DISCARDED_PER_TURN:
        return False  # the caller speaks or has said nothing yet, or has discarded enough replies
    has_asked = s.pending.our_words.endswith("?")
    likely_over = turn.voiced_ms >= LONG_TURN_MS or has_asked or s.barge_in.suspended is not None
    # If the turn is not likely over, a reply costs a whole credit, and the caller's last turns must have had no pause.
    affordable = s.pending.credit >= (0 if likely_over else 1) and (likely_over or s.pending.whole_turns >= WHOLE_TURNS)
    goes_on = turn.wait.wait_ms > PREPARE_WAIT_MS  # its reply would probably be discarded
    return not goes_on and (affordable or _words_known(s, turn) is not None)


def defer(s: State, event: ev.Event, now: float) -> bool:
    """Keep an event of the prepared reply while the turn may go on; return whether it was kept."""
    turn, reply = s.pending.open, s.replies.in_flight
    if s.floor.holder is not Floor.PAUSING or turn is None or reply is None:
        return False  # no reply is being prepared
    match event:
        case ev.ReplyAudio(reply_id, _, pcm):
            if reply_id != reply.id or not reply.wanted:
                return False
            s.clock.reach("first_audio_ms", now)
            turn.prepared.deferred_bytes += len(pcm)
            if turn.prepared.deferred_bytes > MAX_DEFERRED_BYTES:
                discard_prepared(s, now)
                s.replies.wanted[Purpose.ANSWER] = 1
                return True
        case ev.ToolCalled(name=do.WAIT_FOR_USER):
            return False
        case ev.ReplyText() | ev.MessageFinished() | ev.ToolCalled() | ev.ReplyFinished():
            if event.reply != reply.id or not reply.wanted:
                return False
            if isinstance(event, ev.ReplyText):
                s.clock.token(now)
        case _:
            return False
    turn.prepared.deferred.append(event)
    return True


def discard_prepared(s: State, now: float) -> None:
    """Discard the prepared reply, of which the caller has heard nothing."""
    s.replies.wanted.pop(Purpose.ANSWER, None)
    turn, reply = s.pending.open, s.replies.in_flight
    if turn is None:
        return
    deferred = turn.prepared.take()
    if reply and reply.wanted:
        turn.prepared.discarded += 1
        s.pending.credit -= 1
        finished = next((event for event in deferred if isinstance(event, ev.ReplyFinished)), None)
        if finished is None:
            cancel_reply(s, now)
            reply.phase = Phase.DISCARDING
        else:
            s.replies.in_flight = None
            report_discarded(s, finished)
    for event in deferred:
        if isinstance(event, ev.ToolCalled):
            call = s.calls.open(event.call, event.reply, s.floor.turn, now)
            if call:
                call.state = ToolCallState.SETTLED
                s.commands.append(do.SubmitResult(event.call, THROWN_AWAY, silent=True))
    items = dict.fromkeys(event.item for event in deferred if isinstance(event, ev.ReplyAudio | ev.ReplyText))
    s.commands += [do.DeleteItem(item) for item in items]


def report_discarded(s: State, finished: ev.ReplyFinished) -> None:
    """Report the tokens that a discarded reply has cost."""
    s.publish(page.ReplyDiscarded(s.floor.turn, finished.input_tokens, finished.output_tokens))


def reopen(s: State, now: float) -> None:
    """Go on with a turn that the caller has resumed before its answer sounded."""
    note_pause(s, now)
    discard_prepared(s, now)
    if s.floor.holder is Floor.HELD:  # after the second moment: something may be queued, though nothing was heard
        stop_reply(s, now)
    s.silence.owed_since = None
    if s.pending.open:
        _go_on(s, s.pending.open)
    s.pass_floor(Floor.USER)


def reopen_answered(s: State, onset: float) -> bool:
    """Go on with a turn after a false start; return False if `onset` was too late after the answer's first sound."""
    turn = s.pending.answered
    if not follows_false_start(s, onset) or turn is None:
        return False
    s.pending.open, s.pending.answered = turn, None
    note_pause(s, onset)
    turn.segments_answered = turn.segments
    _go_on(s, turn)
    return True


def follows_false_start(s: State, onset: float, within_s: float = FALSE_START_WITHIN_S) -> bool:
    """Return whether a voice that began at `onset` goes on with the turn that is being answered: a false start."""
    turn = s.pending.answered
    if turn is None or turn.sounded_at is None or s.limits.endpointing != "local":
        return False  # a provider that endpoints has made another turn of it already
    return onset - turn.sounded_at <= within_s


def _go_on(s: State, turn: PendingTurn) -> None:
    s.pending.whole_turns = -1  # 0 when this turn is over
    turn.uncommitted = True
    turn.sentence_end = turn.reading = None
    turn.words.standing = Standing.TURN
    if turn.segments and turn.words not in s.pending.words:
        s.pending.words.append(turn.words)


def can_reopen(s: State, now: float) -> bool:
    """Return whether speech now goes on with the last turn: its answer has not sounded, and the pause was short."""
    return s.pending.open is not None and s.pending.open.begun and now - s.pending.open.quiet_since <= RESUME_WITHIN_S


def close_turn(s: State, now: float) -> None:
    """Close a turn that is believed over: the deferred events of its reply are handled now."""
    turn = s.pending.open
    s.pass_floor(Floor.LISTENING)
    if turn is None:
        return
    if not turn.begun:
        _drop_hesitation(s, turn)
        return
    s.pending.credit = min(CREDIT_MAX, s.pending.credit + CREDIT_PER_TURN)
    s.pending.whole_turns += 1
    turn.words.standing = Standing.OVER
    settle_words(s)
    s.pending.replay += turn.prepared.take()


def _drop_hesitation(s: State, turn: PendingTurn) -> None:
    """Drop a turn in which the caller has said nothing but "um"."""
    if turn.reading:
        s.publish(page.MurmurHeard(turn.reading.kind or "", turn.reading.words))
    if turn.segments:
        forget_words(s, turn.words)
    s.pending.open = None
    forget_input(s)


def on_hint(s: State, event: ev.OnsetHinted, now: float) -> None:
    """Keep the prepared reply for a moment longer while a voice may be beginning."""
    if s.pending.open:
        s.pending.open.hinted = event.hinted and s.floor.holder is Floor.PAUSING


def on_read(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Note the class of a turn that is one short utterance, when the utterance is over or pauses."""
    turn, voice = s.pending.open, s.floor.voice
    if turn is None or event.partial:
        return
    if voice is None and s.floor.holder is Floor.PAUSING and turn.segments <= 1:
        turn.reading = event  # over: the class may change the wait
        reassess(s, now)
    elif voice is not None and voice.paused_at is not None and s.floor.holder is Floor.USER:
        turn.reading = event  # in a pause: the end of the utterance will ask for the class


def on_sentence_end(s: State, event: ev.SentenceEndEstimated, now: float) -> None:
    """Note how likely a sentence ends after the words known so far."""
    if s.pending.open and s.pending.open.words.text == event.words:
        s.pending.open.sentence_end = event.log10
        reassess(s, now)


def deadlines(s: State) -> Deadlines:
    """Yield when the turn is believed over, unless a voice sounds."""
    turn = s.pending.open
    if s.floor.holder is Floor.PAUSING and turn and s.floor.voice is None:
        yield turn.over_at + (HINTED_S if turn.hinted else 0.0), close_turn


def is_early(s: State) -> bool:
    """Return whether segments are committed before the utterance is over."""
    reached = s.line.lost_at is None and not s.line.missed
    return reached and s.limits.endpointing == "local" and s.limits.style is not EndpointingStyle.EAGER
