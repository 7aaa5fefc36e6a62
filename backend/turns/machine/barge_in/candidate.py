"""The rules of a barge-in candidate: a short utterance over a reply that may be a murmur, a command or a turn."""

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.languages import ENGLISH
from backend.turns.limits import (
    COMMIT_AFTER_MS,
    DOUBT_MAX_MS,
    LONG_MURMUR_MAX_MS,
    MURMUR_MAX_MS,
    READ_PARTLY_AT_MS,
    TURN_MIN_MS,
)
from backend.turns.machine.actions import forget_words, release_hold, settle_words
from backend.turns.machine.barge_in.state import BargeIn, Candidate
from backend.turns.machine.floor.playback import bring_back
from backend.turns.machine.floor.state import Floor, Utterance
from backend.turns.machine.pending_turn.segments import end_segment, take_over
from backend.turns.machine.pending_turn.state import Standing, TurnWords
from backend.turns.machine.pending_turn.waiting import NOT_WORDS, discard_prepared, follows_false_start
from backend.turns.machine.state import Deadlines, State
from backend.turns.utterances import UtteranceKind, kind_of

MURMURS = frozenset({UtteranceKind.AGREEMENT, *NOT_WORDS})
"""The kinds of utterances with which a listener does not want the floor."""
LIKE_A_MURMUR = tuple(ENGLISH.words("barge_in", "like_a_murmur"))
"""The command that the beginning of some murmurs, like "oh okay", sounds like."""
IN_DOUBT = ENGLISH.words("barge_in", "in_doubt")
"""Commands that are seldom said alone, and that the utterance classifier finds in "hmm", in laughter and in "er": the
transcript decides."""
UNSURE_READINGS = 3
"""Readings of a continuing voice before a command is believed that may be the beginning of a murmur."""
REACTION_S = 0.5
"""Seconds after a reply's first sound before which no caller reacts to it."""
DECIDE_WITHIN_S = 0.7
"""Seconds after the last sound in which a transcript may decide."""


def commit(s: State, now: float) -> None:
    """Commit the speech over the reply, so that the provider transcribes it."""
    utterance = s.floor.voice
    if utterance is None or utterance.paused_at is None:
        return
    utterance.committed = True
    if s.barge_in.candidate is None:
        s.barge_in.candidate = Candidate(TurnWords(standing=Standing.IN_DOUBT), utterance.began)
        s.pending.words.append(s.barge_in.candidate.words)
    s.barge_in.candidate.words.segments += 1
    s.barge_in.candidate.quiet_since = utterance.paused_at
    s.barge_in.candidate.voiced_ms = utterance.voiced_ms
    s.commands.append(do.CommitInput())


def on_read(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Act on the class of a voice over the reply."""
    voice = s.floor.voice
    if voice is not None and (event.partial or voice.paused_at is None):
        _on_read_partly(s, voice, event, now)  # the voice goes on: not all of it was classified
    elif not event.partial:
        _on_read_whole(s, event, now)


def _on_read_whole(s: State, event: ev.UtteranceRead, now: float) -> None:
    """Act on the class of the utterance that pauses, or of one that has just ended."""
    utterance, kind = s.floor.voice, _believed(event)
    if kind in MURMURS:
        if utterance and not utterance.committed and _is_transcribed(s):
            commit(s, now)  # its transcript has the last word
        if utterance:
            utterance.murmured_ms = utterance.voiced_ms
        _note_murmur(s, kind, event.words)
        release_hold(s)
    elif kind is UtteranceKind.COMMAND:
        _adopt_command(s, now)
    elif kind is not None and s.barge_in.candidate is None and not _is_transcribed(s):
        adopt(s, now)  # words, and no transcript to come that could correct the reading


def _on_read_partly(s: State, voice: Utterance, event: ev.UtteranceRead, now: float) -> None:
    """Act on the class of a continuing voice: a command takes the floor, a murmur is given longer.

    Other words take the floor where they go on with a turn that was answered too soon.
    """
    kind = _believed(event)
    if kind is UtteranceKind.COMMAND:
        if not _is_unsure(voice, event.words):
            _adopt_command(s, now)
    elif kind is UtteranceKind.OTHER and follows_false_start(s, voice.began):
        adopt(s, now)
    elif kind is UtteranceKind.OTHER:
        if voice.sounded_like and voice.sounded_like.kind in NOT_WORDS:
            voice.may_last_ms = DOUBT_MAX_MS  # "how much ..." is "hm" at first; so are some murmurs
    elif kind in MURMURS:
        last = voice.partial_readings == len(READ_PARTLY_AT_MS)
        voice.may_last_ms = LONG_MURMUR_MAX_MS if last else MURMUR_MAX_MS
    voice.sounded_like = event


def on_transcribed(s: State, words: TurnWords, now: float) -> None:
    """Let the transcript of the speech over the reply decide."""
    candidate = s.barge_in.candidate
    if candidate is None or candidate.words is not words or not words.complete:
        return  # other words, or not all of them
    if words.failed and s.floor.holder is Floor.HELD and candidate.voiced_ms >= s.limits.cough_max_ms:
        return  # longer than a cough, and nothing is known of it: `_decide` will
    kind = kind_of(words.text)
    if kind in MURMURS:
        _forget(s)  # and the reply goes on, unless a voice sounds over it again
        if s.floor.holder is Floor.HELD and not (s.floor.voice and s.floor.voice.running_since is not None):
            _note_murmur(s, kind, words.text)
            release_hold(s)
        elif not candidate.noted:
            _note_murmur(s, kind, words.text)
    elif s.floor.holder is Floor.HELD or (s.floor.holder is Floor.ASSISTANT and s.floor.playing and s.may_interrupt):
        adopt(s, now)  # the reply still plays, or waits: it is interrupted
    else:
        _forget(s)


def on_turn_transcribed(s: State, words: TurnWords, now: float) -> bool:
    """Take back a turn that cut a reply, if it was only a murmur; return whether it was."""
    turn = s.pending.open
    if s.barge_in.suspended is None or not s.barge_in.suspended.items:
        return False  # nothing can be brought back: even "yes" is answered
    if turn is None or turn.segments == 0 or turn.words is not words or not words.complete:
        return False  # other words, or not all of them
    said = words.since(turn.segments_answered)
    spoken = " ".join(text for text in said.values() if text)
    kind = kind_of(spoken)
    if kind not in MURMURS or words.failed or s.floor.voice or s.floor.holder not in (Floor.PAUSING, Floor.LISTENING):
        return False  # the caller said more, may be saying more, or hears an answer already
    discard_prepared(s, now)
    s.replies.wanted.pop(Purpose.ANSWER, None)
    if turn.segments_answered:  # the turn before the false start stands
        words.leave_out(said)
        words.standing = Standing.OVER
        s.commands += [do.DeleteItem(item) for item in said]
        settle_words(s)
    else:
        forget_words(s, words)
    s.pending.open = None
    s.silence.owed_since = None
    s.clock.drop()
    s.pass_floor(Floor.LISTENING)
    _note_murmur(s, kind, spoken)
    bring_back(s)
    return True


def adopt(s: State, now: float, ended: ev.SpeechStopped | None = None) -> None:
    """Give the caller the floor, with the speech over the reply as the first segment of a turn.

    If the utterance is over already, so is the segment: by `ended`, or by the candidate's last sound.
    """
    candidate, spoken = s.barge_in.candidate, s.barge_in.candidate or s.floor.voice
    said_ms = ended.voiced_ms + ended.hangover_ms if ended else 0
    take_over(s, now, spoken.began if spoken else now - said_ms / 1000)
    if candidate and s.pending.open and s.floor.voice is None:
        s.pending.open.quiet_since = candidate.quiet_since  # the utterance ended before the floor was theirs
    if s.floor.voice is None:
        if ended is None and candidate:
            ended = ev.SpeechStopped(candidate.voiced_ms, round((now - candidate.quiet_since) * 1000))
        end_segment(s, ended or ev.SpeechStopped(0), now)


def _believed(event: ev.UtteranceRead) -> UtteranceKind | None:
    """Return the kind that a reading counts as; a command in `IN_DOUBT` counts as other words."""
    return UtteranceKind.OTHER if event.words in IN_DOUBT else event.kind


def _is_unsure(utterance: Utterance, words: str) -> bool:
    """Return whether a command in a continuing voice may be part of a murmur; then the voice is classified again."""
    if words.startswith(LIKE_A_MURMUR):
        return utterance.partial_readings < UNSURE_READINGS
    before = utterance.sounded_like
    # The new words contradict an agreement that was read before.
    return before is not None and before.kind is UtteranceKind.AGREEMENT and not words.startswith(before.words)


def _adopt_command(s: State, now: float) -> None:
    """Give the floor to a command. Just after the reply's start it corrects the caller's turn, and goes on with it."""
    spoken = s.barge_in.candidate or s.floor.voice
    if not follows_false_start(s, spoken.began if spoken else now, REACTION_S):
        s.pending.answered = None
    adopt(s, now)


def leave(s: State) -> None:
    """Keep the candidate as words of the caller: typed words have taken the floor."""
    candidate, s.barge_in.candidate = s.barge_in.candidate, None
    if candidate:
        candidate.words.standing = Standing.OVER


def deadlines(s: State) -> Deadlines:
    """Yield when speech over a reply is committed, and when it is decided without a transcript."""
    utterance, candidate, limits = s.floor.voice, s.barge_in.candidate, s.limits
    if limits.endpointing != "local":
        return
    if utterance and utterance.paused_at is not None:
        if not utterance.committed and _is_transcribed(s):
            yield utterance.paused_at + COMMIT_AFTER_MS / 1000, commit
    elif utterance is None and candidate:
        yield candidate.quiet_since + DECIDE_WITHIN_S, _decide


def _is_transcribed(s: State) -> bool:
    """Return whether the speech over the reply is committed in a pause: then its transcript has the last word."""
    utterance = s.floor.voice
    reached = s.line.lost_at is None and s.limits.endpointing == "local"
    if utterance is None or not reached or s.barge_in.phase is not BargeIn.DUCKED:
        return False  # a provider that endpoints, or cannot be reached, commits nothing for us
    return utterance.voiced_ms - utterance.murmured_ms >= TURN_MIN_MS


def _decide(s: State, now: float) -> None:
    """Decide without a transcript: the candidate is a turn if it was longer than a cough."""
    if s.barge_in.candidate and s.barge_in.candidate.voiced_ms < s.limits.cough_max_ms:
        release_hold(s)
    else:
        adopt(s, now)


def _forget(s: State) -> None:
    """Delete the items of the candidate, which was no turn."""
    candidate, s.barge_in.candidate = s.barge_in.candidate, None
    if candidate:
        forget_words(s, candidate.words)


def _note_murmur(s: State, kind: UtteranceKind | None, words: str) -> None:
    if s.barge_in.candidate:
        s.barge_in.candidate.noted = True
    s.publish(page.MurmurHeard(kind or "", words))
