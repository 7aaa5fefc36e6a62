"""The rules for what playback reports: only what the caller has heard of an item counts as said."""

import json

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose
from backend.turns.machine.actions import close, release_hold
from backend.turns.machine.floor.state import Floor, Playback
from backend.turns.machine.pending_turn.state import PendingTurn
from backend.turns.machine.pending_turn.waiting import join_candidate
from backend.turns.machine.reply.state import Phase
from backend.turns.machine.state import State
from backend.turns.spoken import BYTES_PER_MS, SpokenItem

CUT_SHORT = "(and there you stopped)"
"""The text in place of words that the provider had not sent when the reply was cut."""


def on_started(s: State, event: ev.PlaybackStarted, now: float) -> None:
    """Note that an item begins to sound: the items before it have been heard."""
    s.silence.owed_since = None
    turn = s.pending.open
    if turn is None:
        s.report(s.clock.played(now))
    else:
        wait, discarded = turn.wait, turn.prepared.discarded
        s.report(
            s.clock.played(now, wait_ms=wait.wait_ms, reason=wait.reason, segments=turn.segments, discarded=discarded)
        )
    if s.pending.open and s.floor.holder is not Floor.PAUSING:
        s.pending.open.sounded_at = now
        s.pending.answered, s.pending.open = s.pending.open, None
    for spoken in s.replies.items.take_before(event.item):
        _heard_whole(s, spoken)
    s.report(s.clock.sounds(event.item, now))


def on_drained(s: State, event: ev.PlaybackDrained, now: float) -> None:
    """Note that the playback queue is empty: a reply that still streams may go on, any other has been heard."""
    s.floor.playback = Playback.SILENT
    s.floor.last_sound_at = now
    if s.replies.in_flight and s.replies.in_flight.phase is Phase.STREAMING:
        if not event.item.startswith(do.CLIP_ITEM):  # "one moment" does not give the provider more time
            s.replies.in_flight.since = now
        return
    s.publish(page.PlaybackFinished(event.item, event.played_ms))
    heard_out(s, now)


def heard_out(s: State, now: float) -> None:
    """Settle the items that were heard to their end: the floor is free, idling begins, a goodbye ends the call."""
    over = s.replies.items.take_finished()
    s.notices.opened |= bool(over)
    for spoken in over:
        _heard_whole(s, spoken)
    if not any(spoken.purpose is Purpose.NUDGE for spoken in over):
        s.silence.idle_since = now
    if s.floor.holder is Floor.ASSISTANT:
        s.pass_floor(Floor.LISTENING)
    _let_speaker_go_on(s)
    if s.farewell.reason and not s.farewell.last_word and s.replies.in_flight is None and not s.replies.wanted:
        close(s, s.farewell.reason)  # the goodbye was heard, and nothing is to be said before it


def on_flushed(s: State, event: ev.PlaybackFlushed, now: float) -> None:
    """Report to the provider, item by item, how much was heard of the audio that was cut."""
    played = {heard.item: heard.played_ms for heard in event.items}
    for spoken in s.replies.items.take_all():
        played_ms = played.get(spoken.item, spoken.heard_before_ms + spoken.audio_ms) - spoken.heard_before_ms
        played_ms = max(0, min(played_ms, spoken.audio_ms))
        if spoken.finished and spoken.audio_bytes and spoken.item not in played:
            _heard_whole(s, spoken)  # it was played to its end before the flush
        else:
            _heard_partly(s, spoken, played_ms)


def bring_back(s: State) -> None:
    """Go on with the suspended reply from where it was cut: the speech that cut it was not meant for us."""
    suspended, s.barge_in.suspended = s.barge_in.suspended, None
    if suspended is None or not suspended.items or s.floor.playing or s.floor.holder is not Floor.LISTENING:
        return  # nothing of the reply is left, or something else has begun meanwhile
    for spoken in suspended.items:
        s.replies.items.put_back(spoken)
    last = suspended.items[-1]
    if suspended.cut_short:
        last.text = f"{last.text} {CUT_SHORT}".strip()
    s.floor.begin_playback()
    s.pass_floor(Floor.ASSISTANT)
    s.commands.append(do.RestorePlayback(last.item, last.heard_before_ms + last.audio_ms))


def _let_speaker_go_on(s: State) -> None:
    """Give the floor to a caller who began to speak over the end of a reply: they answer it, and do not interrupt."""
    utterance = s.floor.voice
    if utterance is None or s.floor.holder not in (Floor.LISTENING, Floor.HELD) or s.something_to_interrupt:
        return  # nothing is said, or more of ours is to come
    if utterance.murmured_ms and not s.pending.our_words.endswith("?"):
        return
    if s.floor.holder is Floor.HELD:
        release_hold(s)
    s.pending.open = PendingTurn(quiet_since=utterance.paused_at or 0.0, reading=utterance.reading)
    join_candidate(s)
    s.pass_floor(Floor.USER)


def _heard_whole(s: State, spoken: SpokenItem) -> None:
    text = spoken.text.strip()
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, spoken.audio_ms, text)
    if text:
        s.pending.note_our_words(text)
        s.publish(page.TranscriptCompleted("assistant", spoken.item, text))
        s.commands.append(do.Remember("assistant", text))
    if spoken.restored:
        _note_restored(s, text)


def _heard_partly(s: State, spoken: SpokenItem, played_ms: int) -> None:
    false_start = s.barge_in.suspended is not None and s.barge_in.suspended.false_start
    heard = "" if false_start else spoken.heard(played_ms)
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, played_ms, heard)
    elif s.barge_in.suspended is not None and spoken.audio_bytes:
        s.barge_in.suspended.items.append(
            SpokenItem(
                spoken.item,
                spoken.purpose,
                spoken.text[len(heard) :].strip(),
                spoken.audio_bytes - played_ms * BYTES_PER_MS,
                finished=True,
                heard_before_ms=spoken.heard_before_ms + played_ms,
                restored=True,
            )
        )
    if spoken.restored:
        _note_restored(s, heard)
    elif s.line.lost_at is None and s.floor.holder is not Floor.CLOSED:
        said = played_ms > 0 and not false_start
        s.commands.append(do.TruncateItem(spoken.item, played_ms, heard) if said else do.DeleteItem(spoken.item))
    s.publish(page.TranscriptInterrupted(spoken.item, heard, spoken.text.strip()))
    if heard:
        s.pending.note_our_words(heard)
        s.commands.append(do.Remember("assistant", heard))


def _note_restored(s: State, heard: str) -> None:
    """Note for the provider what was said of an item that it knows as cut."""
    if heard and s.line.lost_at is None and s.floor.holder is not Floor.CLOSED:
        s.commands.append(do.AddNote(f"The caller had not meant you, so you went on and said: {json.dumps(heard)}"))
