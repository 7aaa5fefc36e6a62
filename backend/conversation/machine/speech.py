"""The caller's speech and typed words: each may be a cough, an interruption, noise or a turn."""

from __future__ import annotations

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation import page_events as page
from backend.conversation.commands import Purpose
from backend.conversation.machine.connection import admit_missing, send_typed
from backend.conversation.machine.moves import release_hold, stop_reply
from backend.conversation.machine.state import IDLE, Deadlines, Floor, State, Utterance
from backend.conversation.machine.thinkers import overtake


def on_started(s: State, now: float) -> None:
    """Hold what is being played until it is clear whether the voice takes the floor."""
    if s.floor not in (Floor.LISTENING, Floor.ASSISTANT) or s.leaving not in (None, IDLE):
        return
    s.utterance = Utterance(now)
    if not s.something_to_interrupt:
        s.pass_floor(Floor.USER)
        return
    s.pass_floor(Floor.HELD)
    s.commands.append(do.HoldPlayback())
    if s.limits.interruption_min_ms == 0:
        _take_over(s, now)


def on_voiced(s: State, voiced_ms: int, since: float | None) -> None:
    """Note how long the voice has sounded, and since when it goes on; None: it fell silent, perhaps for a breath."""
    if s.utterance:
        s.utterance = Utterance(since, voiced_ms)


def on_stopped(s: State, event: ev.SpeechStopped, now: float) -> None:
    """Decide what the speech was: a cough, noise, or the end of a turn."""
    if s.floor not in (Floor.USER, Floor.HELD):
        return
    s.utterance = None
    s.last_voice_at = now
    if s.floor is Floor.HELD:
        if event.voiced_ms < s.limits.interruption_min_ms:
            _forget_input(s)
            release_hold(s)
            return
        _take_over(s, now)
    if event.voiced_ms < s.limits.turn_min_ms:
        _forget_input(s)
        s.pass_floor(Floor.LISTENING)
        return
    _end_turn(s, event, now)


def on_committed(s: State, event: ev.InputCommitted) -> None:
    """Show the item that the provider made of the caller's audio, or delete one that was no turn."""
    if s.discard_commit:
        s.discard_commit = False
        s.discarded = event.item
        s.commands.append(do.DeleteItem(event.item))
        return
    s.publish(page.UserItemAdded(event.item, event.previous))


def on_transcript_grew(s: State, item: str, delta: str) -> None:
    """Show more words of an item of the caller's."""
    if item != s.discarded:
        s.publish(page.TranscriptDelta("user", item, delta))


def on_transcribed(s: State, item: str, text: str) -> None:
    """Show and remember the whole transcript of an item of the caller's."""
    if item == s.discarded:
        return
    s.untranscribed = False
    s.publish(page.TranscriptCompleted("user", item, text.strip()))
    if text.strip():
        s.commands.append(do.Remember("user", text.strip()))


def on_typed(s: State, text: str, now: float) -> None:
    """Treat typed words as a turn at once, whoever has the floor."""
    if s.floor is Floor.HELD or s.something_to_interrupt:
        stop_reply(s, now)
    if s.floor is Floor.HELD:
        s.pass_floor(Floor.USER)
    elif s.floor is Floor.ASSISTANT:
        s.pass_floor(Floor.LISTENING)
    _begin_turn(s, now, 0)
    s.untranscribed = False
    s.publish(page.TranscriptCompleted("user", f"typed-{s.turn}", text))
    send_typed(s, text)
    s.want(Purpose.ANSWER)


def deadlines(s: State) -> Deadlines:
    """Yield when a voice that keeps on takes the floor."""
    if s.floor is Floor.HELD and s.utterance:
        taken_over_at = s.utterance.reaches(s.limits.interruption_min_ms)
        if taken_over_at is not None:
            yield taken_over_at, _take_over


def _take_over(s: State, now: float) -> None:
    """Give the caller the floor: the reply is cancelled and thrown away."""
    if s.leaving == IDLE:
        s.leaving = None
    stop_reply(s, now)
    s.pass_floor(Floor.USER)


def _forget_input(s: State) -> None:
    """Discard the audio sent since the last commit; a provider that endpoints commits it all the same."""
    s.missed = False
    if s.limits.endpointing == "local":
        s.commands.append(do.ClearInput())
    else:
        s.discard_commit = True


def _end_turn(s: State, event: ev.SpeechStopped, now: float) -> None:
    s.pass_floor(Floor.LISTENING)
    _begin_turn(s, now, event.hangover_ms)
    if s.missed or s.lost_at is not None:
        s.missed = True
        admit_missing(s, now)
        return
    s.untranscribed = True
    if s.limits.endpointing == "local":
        s.commands.append(do.CommitInput())
    s.want(Purpose.ANSWER)


def _begin_turn(s: State, now: float, hangover_ms: int) -> None:
    """Begin a new turn: what was under way for the last one is stale from here on."""
    s.turn += 1
    s.opened = True
    overtake(s)
    s.wanted.clear()
    s.refusals = s.fillers = 0
    s.owed_since = now
    s.note_caller(now)
    s.clock.begin(s.turn, now, hangover_ms)
