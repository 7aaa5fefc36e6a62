"""Overlapping speech: a short utterance said over a reply, of which not all is known yet.

Half a second of speech over a reply may agree with it or want the floor. The utterance reader tells at once, though not
always rightly; the provider's transcript tells surely, some 300 ms later. So what the caller has said is committed like
a piece of a turn, while the reply plays on:

    the reader says   at once                        the transcript then says: a murmur     anything else
    ---------------   ----------------------------   ------------------------------------   -------------------
    a murmur          the reply comes up again       it was one: its item is deleted        the floor is theirs
    a command         the caller has the floor       the reply goes on where it was cut     it is a turn
    other, nothing    the reply stays turned down    the reply comes up again               the floor is theirs

Without a transcript by `DECIDE_WITHIN_S`, what is in doubt is a turn. Whoever speaks longer than `interruption_min_ms`
has the floor anyway (`murmur_max_ms` where it began like a murmur, `long_murmur_max_ms` where it goes on like one);
but if all that was said was a murmur, the reply goes on even then.
"""

from __future__ import annotations

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Purpose
from backend.turns.machine.moves import forget_words, release_hold, settle_words
from backend.turns.machine.open_turn import NOT_WORDS, discard_prepared, follows_false_start
from backend.turns.machine.pieces import end_piece, take_over
from backend.turns.machine.playback import bring_back
from backend.turns.machine.state import Deadlines, Floor, Overlap, State, TurnWords, Utterance
from backend.turns.utterances import UtteranceKind, kind_of

MURMURS = frozenset({UtteranceKind.AGREEMENT, *NOT_WORDS})
"""What a listener utters without wanting the floor."""
LIKE_A_MURMUR = "no"
"""The command that murmurs sound like as long as only their beginning is known: "oh okay"."""
IN_DOUBT = frozenset({"hey", "enough", "sorry"})
"""Commands that are seldom said alone, and that the reader finds in "hmm", in laughter and in "er": the transcript
decides."""
UNSURE_READINGS = 3
"""Readings of a voice that sounds on before such a command is believed."""
REACTION_S = 0.5
"""Seconds after a reply's first sound before which nobody reacts to it."""
DECIDE_WITHIN_S = 0.7
"""Seconds after the last sound in which a transcript may decide."""


def commit(s: State, now: float) -> None:
    """Commit what was said over the reply, to have it transcribed."""
    utterance = s.utterance
    if utterance is None or utterance.paused_at is None:
        return
    utterance.committed = True
    if s.overlap is None:
        s.overlap = Overlap(TurnWords(overlap=True), utterance.began)
        s.words.append(s.overlap.words)
    s.overlap.words.pieces += 1
    s.overlap.quiet_since = utterance.paused_at
    s.overlap.voiced_ms = utterance.voiced_ms
    s.commands.append(do.CommitInput())


def on_read(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Act on what was read of the utterance under way, or of one that has just ended."""
    utterance, floor, kind = s.utterance, s.floor, _believed(event)
    if floor is not Floor.HELD:
        return
    if kind in MURMURS:
        if utterance and not utterance.committed and _is_transcribed(s):
            commit(s, now)  # its transcript has the last word
        if utterance:
            utterance.murmured_ms = utterance.voiced_ms
        _note_murmur(s, kind, event.words)
        release_hold(s)
    elif kind is UtteranceKind.COMMAND:
        _adopt_command(s, now)
    elif kind is not None and s.overlap is None and not _is_transcribed(s):
        adopt(s, now)


def on_read_partly(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Act on what was read of a voice that sounds on: a command takes the floor, a murmur is given longer.

    Other words take it where they go on with a turn whose answer has just begun.
    """
    if s.utterance is None or s.floor is not Floor.HELD:
        return
    kind = _believed(event)
    if kind is UtteranceKind.COMMAND:
        if not _is_unsure(s.utterance, event.words):
            _adopt_command(s, now)
    elif kind is UtteranceKind.OTHER and follows_false_start(s, s.utterance.began):
        adopt(s, now)
    elif kind is UtteranceKind.OTHER:
        if s.utterance.sounded_like and s.utterance.sounded_like.kind in NOT_WORDS:
            s.utterance.may_last_ms = s.limits.doubt_max_ms  # "how much ..." is "hm" at first; so are some murmurs
    elif kind in MURMURS:
        last = s.utterance.partial_readings == len(s.limits.read_partly_at_ms)
        s.utterance.may_last_ms = s.limits.long_murmur_max_ms if last else s.limits.murmur_max_ms
    s.utterance.sounded_like = event


def on_transcribed(s: State, words: TurnWords, now: float) -> None:
    """Let the transcript of what was said over the reply decide."""
    overlap = s.overlap
    if overlap is None or overlap.words is not words or not words.complete:
        return
    if words.failed and s.floor is Floor.HELD and overlap.voiced_ms >= s.limits.cough_max_ms:
        return
    kind = kind_of(words.text)
    if kind in MURMURS:
        _forget(s)
        if s.floor is Floor.HELD and not (s.utterance and s.utterance.running_since is not None):
            _note_murmur(s, kind, words.text)
            release_hold(s)
        elif not overlap.noted:
            _note_murmur(s, kind, words.text)
    elif s.floor is Floor.HELD or (s.floor is Floor.ASSISTANT and s.playing and s.may_interrupt):
        adopt(s, now)
    else:
        _forget(s)


def on_turn_transcribed(s: State, words: TurnWords, now: float) -> bool:
    """Take back a turn that cut a reply and was nothing but a murmur; return whether that was so."""
    turn = s.open
    if s.parked is None or not s.parked.items:
        return False  # nothing can be brought back: even "yes" is answered
    if turn is None or turn.pieces == 0 or turn.words is not words or not words.complete:
        return False
    said = words.since(turn.pieces_answered)
    spoken = " ".join(text for text in said.values() if text)
    kind = kind_of(spoken)
    if kind not in MURMURS or words.failed or s.utterance or s.floor not in (Floor.PAUSING, Floor.LISTENING):
        return False
    discard_prepared(s, now)
    s.wanted.pop(Purpose.ANSWER, None)
    if turn.pieces_answered:  # the turn before the false start stands
        words.leave_out(said)
        words.over = True
        s.commands += [do.DeleteItem(item) for item in said]
        settle_words(s)
    else:
        forget_words(s, words)
    s.open = None
    s.owed_since = None
    s.clock.drop()
    s.pass_floor(Floor.LISTENING)
    _note_murmur(s, kind, spoken)
    bring_back(s)
    return True


def adopt(s: State, now: float, ended: ev.SpeechStopped | None = None) -> None:
    """Give the caller the floor, with what was said and committed over the reply as the first piece of a turn.

    Where the utterance is over already, so is the piece: with `ended`, or with what was committed.
    """
    overlap, spoken = s.overlap, s.overlap or s.utterance
    said_ms = ended.voiced_ms + ended.hangover_ms if ended else 0
    take_over(s, now, spoken.began if spoken else now - said_ms / 1000)
    if overlap and s.open and s.utterance is None:
        s.open.quiet_since = overlap.quiet_since
    if s.utterance is None:
        if ended is None and overlap:
            ended = ev.SpeechStopped(overlap.voiced_ms, round((now - overlap.quiet_since) * 1000))
        end_piece(s, ended or ev.SpeechStopped(0), now)


def _believed(event: ev.UtteranceRead) -> UtteranceKind | None:
    """Return what a reading is taken for."""
    return UtteranceKind.OTHER if event.words in IN_DOUBT else event.kind


def _is_unsure(utterance: Utterance, words: str) -> bool:
    """Return whether a command that is found in a voice which sounds on may be part of a murmur: it is read again."""
    if words.startswith(LIKE_A_MURMUR):
        return utterance.partial_readings < UNSURE_READINGS
    before = utterance.sounded_like
    return before is not None and before.kind is UtteranceKind.AGREEMENT and not words.startswith(before.words)


def _adopt_command(s: State, now: float) -> None:
    """Give the floor to "stop" or "no": said to the reply, or where it comes at once, to correct the turn before."""
    spoken = s.overlap or s.utterance
    if not follows_false_start(s, spoken.began if spoken else now, REACTION_S):
        s.answered = None
    adopt(s, now)


def leave(s: State) -> None:
    """Leave what is not decided yet as something that was said: typed words have taken the floor."""
    overlap, s.overlap = s.overlap, None
    if overlap:
        overlap.words.overlap, overlap.words.over = False, True


def deadlines(s: State) -> Deadlines:
    """Yield when speech over a reply is committed, and when it is decided without a transcript."""
    utterance, overlap, limits = s.utterance, s.overlap, s.limits
    if s.floor is not Floor.HELD or limits.endpointing != "local":
        return
    if utterance and utterance.paused_at is not None:
        if not utterance.committed and _is_transcribed(s):
            yield utterance.paused_at + limits.commit_after_ms / 1000, commit
    elif utterance is None and overlap:
        yield overlap.quiet_since + DECIDE_WITHIN_S, _decide


def _is_transcribed(s: State) -> bool:
    """Return whether what is said over the reply is committed in a pause: then its transcript has the last word."""
    utterance = s.utterance
    if utterance is None or not s.ducked or s.lost_at is not None or s.limits.endpointing != "local":
        return False
    return utterance.voiced_ms - utterance.murmured_ms >= s.limits.turn_min_ms


def _decide(s: State, now: float) -> None:
    """Decide without a transcript: it is a turn, if it was longer than a cough."""
    if s.overlap and s.overlap.voiced_ms < s.limits.cough_max_ms:
        release_hold(s)
    else:
        adopt(s, now)


def _forget(s: State) -> None:
    """Delete what was committed: it was no turn."""
    overlap, s.overlap = s.overlap, None
    if overlap:
        forget_words(s, overlap.words)


def _note_murmur(s: State, kind: UtteranceKind | None, words: str) -> None:
    if s.overlap:
        s.overlap.noted = True
    s.publish(page.MurmurHeard(kind or "", words))
