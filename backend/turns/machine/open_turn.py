"""The caller's turn while it may still go on: think early, speak late.

A turn has two moments. At the first, the end of an utterance, its reply is asked for; at the second, when the turn is
believed over, the reply may sound. In between the floor is PAUSING: whatever the prepared reply sends is deferred, so
that nothing is played, shown or run. Whoever goes on before the second moment has heard nothing: the prepared reply is
cancelled and deleted, and what follows is another piece of the same turn. Even after the second moment a turn is open
until its answer sounds, for `RESUME_WITHIN_S`. Tool calls that were begun by then work on: the answer to all that was
said has the results that are there when it is asked for, and one that comes later is stale.

An answer may begin to sound into a pause all the same, a *false start*. Whoever speaks again within
`FALSE_START_WITHIN_S` has not heard enough of it to react to: it is cut and deleted as if nothing of it had been said,
and what follows is another piece of the same turn.

Where a voice may just be beginning at the second moment, but the detector is not sure of it, that moment comes when it
has come to nothing, `SUSPECTED_S` later at most.

How long to wait is the verdict of `conversation.patience`, reached anew whenever more is known: the words of a piece,
what was read of a short utterance, how likely a sentence ends here.

A reply that is prepared and thrown away costs tokens. So a call has a *credit*: each turn adds `CREDIT_PER_TURN`, each
discarded reply takes 1. Before its words are known, a turn's reply is asked for where the turn is likely to be over
(much was said, we have asked something, or it has cut a reply, which may have to be brought back), unless the credit is
overdrawn; with a credit of 1 also where this caller's latest turns had no pause (`WHOLE_TURNS`). Words are worth more:
where they may be all, the reply is asked for at once (`PREPARE_WAIT_MS`), on credit or not. A turn costs at most
`DISCARDED_PER_TURN`.
"""

from __future__ import annotations

import json

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Purpose
from backend.turns.machine.moves import cancel_reply, forget_input, forget_words, settle_words, stop_reply
from backend.turns.machine.state import Deadlines, Floor, OpenTurn, State, ToolCallState
from backend.turns.patience import EndpointingStyle, PauseContext, Reason, patience
from backend.turns.utterances import UtteranceKind, kind_of

CREDIT_PER_TURN = 0.4
CREDIT_MAX = 2.0
DISCARDED_PER_TURN = 2
WHOLE_TURNS = 3
"""Turns in a row without a pause after which the next one is expected to have none either; a call begins with that."""
LONG_TURN_MS = 2700
"""Speech after which a pause is more likely to be the end of a turn than not."""
PREPARE_WAIT_MS = 960
"""A turn that is waited for longer than this will probably go on: its reply is asked for at the second moment. (What is
waited for longer only because the Responder is slow is none.)"""
RELEASE_MS = 15
"""A prepared reply is released so long before the wait is over: it sounds with the next slot of the media clock, within
20 ms, and is heard when the wait is over, not after it."""
SUSPECTED_S = 0.1
"""A turn is held open so much longer at most while a voice may be beginning. Of 456 pieces that followed a pause half
began with a frame near the caller's level 5 ms after the onset, and the detector was sure of half after 34 ms, of
95 % after 103. Nothing sounded so near in the 795 silences around them."""
RESUME_WITHIN_S = 2.0
"""Seconds after the caller's last sound in which speech goes on with a turn whose answer has not sounded."""
FALSE_START_WITHIN_S = 1.2
"""Seconds after the answer's first sound in which speech goes on with the turn; who reacts to what is said needs
longer. The floor is taken half a second later at most."""
HESITATION_WAIT_MS = 2500
"""The time somebody who has only said "um" has to go on."""
SHORTEST_PAUSE_MS = 150
"""Shorter silences belong to words."""
ESTIMATE_WITHIN_S = 0.03
"""The time an estimate of a sentence's end may take before the verdict is acted on without it."""
MAX_DEFERRED_BYTES = 60 * 48_000
"""A minute of a prepared reply is kept; one that sends more is asked for anew."""
NOT_WORDS = frozenset({UtteranceKind.HESITATION, UtteranceKind.NOISE})
THROWN_AWAY = json.dumps({"error": "cancelled: the caller went on speaking"})
"""The result for a tool call of a prepared reply."""


def open_turn(s: State) -> OpenTurn:
    """Begin a turn of the caller's: from here on it is collected, piece by piece."""
    s.open = OpenTurn()
    return s.open


def note_pause(s: State, now: float) -> None:
    """Note how long the caller has paused, having gone on."""
    if s.open and s.open.quiet_since:
        pause_ms = round((now - s.open.quiet_since) * 1000)
        if pause_ms >= SHORTEST_PAUSE_MS:
            s.caller_pauses_ms.append(pause_ms)


def commit_piece(s: State) -> None:
    """Commit what was said since the last piece, so that its words are known early."""
    turn = s.open
    if turn is None or not turn.uncommitted:
        return
    if turn.pieces == 0:
        s.words.append(turn.words)
    turn.uncommitted = False
    turn.words.pieces += 1
    if s.limits.endpointing == "local":
        s.commands.append(do.CommitInput())


def note_rest(s: State, sounded_ms: int) -> None:
    """Note that a voice of which a part was committed while it sounded has lasted so long: is there more to commit?"""
    voice = s.utterance
    if s.open and voice and voice.committed_ms is not None and sounded_ms - voice.committed_ms >= s.limits.turn_min_ms:
        voice.committed_ms = None
        s.open.uncommitted = True


def join_overlap(s: State) -> None:
    """Take what was said and committed over a reply for a piece of the open turn."""
    overlap, s.overlap, turn = s.overlap, None, s.open
    if overlap is None or turn is None:
        return
    turn.uncommitted = s.utterance is not None and not s.utterance.committed
    overlap.words.overlap = False
    if turn.pieces:
        s.words.remove(overlap.words)
        turn.words.take_in(overlap.words)
    else:
        turn.words = overlap.words
        if turn.words.items:
            s.publish(page.UserItemAdded(turn.words.id))


def only_hesitated(s: State, turn: OpenTurn) -> bool:
    """Return whether nothing was said in this turn but "um", as far as is known: a transcript has the last word."""
    if turn.begun or turn.reading is None or turn.reading.kind not in NOT_WORDS:
        return False
    words = _words_known(s, turn)
    return words is None or kind_of(words) in NOT_WORDS


def assess(s: State, now: float) -> None:
    """Reach a verdict on when the turn is over, with all that is known now."""
    turn = s.open
    if turn is None:
        return
    if s.limits.endpointing == "provider":
        turn.wait_ms, turn.reason = 0, "provider"  # it has judged by meaning already
    elif only_hesitated(s, turn):
        turn.wait_ms, turn.reason = HESITATION_WAIT_MS, "hesitation"
    else:
        verdict = patience(
            PauseContext(
                words=_words_known(s, turn),
                ending=turn.ending,
                expected=s.expected,
                caller_pauses_ms=tuple(s.caller_pauses_ms),
                sentence_end=turn.sentence_end,
                reading=turn.reading.words if turn.reading and turn.pieces <= 1 else None,
                reply_ms=s.clock.usual_reply_ms if turn.discarded < DISCARDED_PER_TURN else 0,
            ),
            s.limits.style,
        )
        turn.wait_ms, turn.reason = verdict.wait_ms, verdict.reason
    turn.over_at = turn.quiet_since + max(0, turn.wait_ms - RELEASE_MS) / 1000


def _words_known(s: State, turn: OpenTurn) -> str | None:
    """Return the words of all pieces so far; None while some are not transcribed."""
    return (turn.words.text or None) if turn.pieces and turn.words.complete else None


def reassess(s: State, now: float, grace_s: float = 0.0) -> None:
    """Reach a verdict anew, while the turn may be over; it is not acted on within `grace_s`."""
    if s.floor is Floor.PAUSING and s.open:
        assess(s, now)
        s.open.over_at = max(s.open.over_at, now + grace_s)


def may_prepare(s: State) -> bool:
    """Return whether a reply may be asked for though the turn may go on."""
    turn = s.open
    if turn is None or s.utterance or only_hesitated(s, turn) or turn.discarded >= DISCARDED_PER_TURN:
        return False
    likely_over = turn.voiced_ms >= LONG_TURN_MS or s.our_words.endswith("?") or s.parked is not None
    affordable = s.credit >= (0 if likely_over else 1) and (likely_over or s.whole_turns >= WHOLE_TURNS)
    goes_on = turn.wait_ms > PREPARE_WAIT_MS and turn.reason != Reason.SLOW_REPLY
    return not goes_on and (affordable or _words_known(s, turn) is not None)


def defer(s: State, event: ev.ResponderEvent, now: float) -> bool:
    """Keep back what the prepared reply sends, while the turn may go on; return whether it was kept back."""
    turn, reply = s.open, s.reply
    if s.floor is not Floor.PAUSING or turn is None or reply is None:
        return False
    match event:
        case ev.ReplyAudio(reply_id, _, pcm):
            if reply_id != reply.id or not reply.wanted:
                return False
            s.clock.reach("first_audio_ms", now)
            turn.deferred_bytes += len(pcm)
            if turn.deferred_bytes > MAX_DEFERRED_BYTES:
                discard_prepared(s, now)
                s.want(Purpose.ANSWER)
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
    turn.deferred.append(event)
    return True


def discard_prepared(s: State, now: float) -> None:
    """Throw away the reply that was prepared: the caller goes on, and has heard nothing of it."""
    s.wanted.pop(Purpose.ANSWER, None)
    turn, reply = s.open, s.reply
    if turn is None:
        return
    deferred, turn.deferred, turn.deferred_bytes = turn.deferred, [], 0
    if reply and reply.wanted:
        turn.discarded += 1
        s.credit -= 1
        reply.discarded = True
        finished = next((event for event in deferred if isinstance(event, ev.ReplyFinished)), None)
        if finished is None:
            cancel_reply(s, now)
        else:
            s.reply = None
            report_discarded(s, finished)
    for event in deferred:
        if isinstance(event, ev.ToolCalled):
            call = s.calls.open(event.call, event.reply, s.turn, now)
            if call:
                call.state = ToolCallState.SETTLED
                s.commands.append(do.SubmitResult(event.call, THROWN_AWAY, silent=True))
    items = dict.fromkeys(event.item for event in deferred if isinstance(event, ev.ReplyAudio | ev.ReplyText))
    s.commands += [do.DeleteItem(item) for item in items]


def report_discarded(s: State, finished: ev.ReplyFinished) -> None:
    """Report what a discarded reply has cost."""
    s.publish(page.ReplyDiscarded(s.turn, finished.input_tokens, finished.output_tokens))


def reopen(s: State, now: float) -> None:
    """Go on with the turn: the caller has resumed before its answer sounded."""
    note_pause(s, now)
    discard_prepared(s, now)
    if s.floor is Floor.HELD:  # after the second moment: something may be queued, though nothing was heard
        stop_reply(s, now)
    s.owed_since = None
    if s.open:
        _go_on(s, s.open)
    s.pass_floor(Floor.USER)


def reopen_answered(s: State, onset: float) -> bool:
    """Go on with a turn into whose pause its answer has begun to sound; return whether `onset` was soon enough."""
    turn = s.answered
    if not follows_false_start(s, onset) or turn is None:
        return False
    s.open, s.answered = turn, None
    note_pause(s, onset)
    turn.pieces_answered = turn.pieces
    _go_on(s, turn)
    return True


def follows_false_start(s: State, onset: float, within_s: float = FALSE_START_WITHIN_S) -> bool:
    """Return whether a voice that began at `onset` goes on with the turn whose answer is sounding."""
    turn = s.answered
    if turn is None or turn.sounded_at is None or s.limits.endpointing != "local":
        return False  # a provider that endpoints has made another turn of it already
    return onset - turn.sounded_at <= within_s


def _go_on(s: State, turn: OpenTurn) -> None:
    s.whole_turns = -1  # 0 when this turn is over
    turn.uncommitted = True
    turn.sentence_end = turn.reading = None
    turn.words.over = False
    if turn.pieces and turn.words not in s.words:
        s.words.append(turn.words)


def can_reopen(s: State, now: float) -> bool:
    """Return whether speech now goes on with the last turn: its answer has not sounded, and the pause was short."""
    return s.open is not None and s.open.begun and now - s.open.quiet_since <= RESUME_WITHIN_S


def close_turn(s: State, now: float) -> None:
    """Believe the turn over: what was deferred happens now."""
    turn = s.open
    s.pass_floor(Floor.LISTENING)
    if turn is None:
        return
    if not turn.begun:
        _drop_hesitation(s, turn)
        return
    s.credit = min(CREDIT_MAX, s.credit + CREDIT_PER_TURN)
    s.whole_turns += 1
    turn.words.over = True
    settle_words(s)
    s.replay += turn.deferred
    turn.deferred, turn.deferred_bytes = [], 0


def _drop_hesitation(s: State, turn: OpenTurn) -> None:
    """Let the floor be free: nobody has said anything but "um"."""
    if turn.reading:
        s.publish(page.MurmurHeard(turn.reading.kind or "", turn.reading.words))
    if turn.pieces:
        forget_words(s, turn.words)
    s.open = None
    forget_input(s)


def deadlines(s: State) -> Deadlines:
    """Yield when the turn is believed over; a voice that sounds meanwhile is waited for."""
    turn = s.open
    if s.floor is Floor.PAUSING and turn and s.utterance is None:
        yield turn.over_at + (SUSPECTED_S if turn.suspected else 0.0), close_turn


def is_early(s: State) -> bool:
    """Return whether pieces are committed before the utterance is over."""
    reached = s.lost_at is None and not s.missed
    return reached and s.limits.endpointing == "local" and s.limits.style is not EndpointingStyle.EAGER
