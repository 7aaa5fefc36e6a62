"""Playback reports what the caller hears, item by item; only that counts as said."""

from __future__ import annotations

import json
from dataclasses import replace

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns import page_events as page
from backend.turns.commands import Purpose
from backend.turns.machine.moves import close, release_hold
from backend.turns.machine.open_turn import join_overlap
from backend.turns.machine.state import Floor, OpenTurn, Phase, State
from backend.turns.spoken import BYTES_PER_MS, SpokenItem

CUT_SHORT = "(and there you stopped)"
"""What stands in the place of words that the provider had not sent yet."""


def on_playback_started(s: State, item: str, now: float) -> None:
    """Note that the first frame of an item was sent: the items before it have been heard."""
    s.owed_since = None
    report = s.clock.reach("played_ms", now)
    if report:
        turn = s.open
        if turn:
            report = replace(
                report, wait_ms=turn.wait_ms, reason=turn.reason, pieces=turn.pieces, discarded=turn.discarded
            )
        s.publish(report)
    if s.open and s.floor is not Floor.PAUSING:
        s.open.sounded_at = now
        s.answered, s.open = s.open, None
    for spoken in s.items.take_before(item):
        _heard_whole(s, spoken)
    s.report(s.clock.sounds(item, now))


def on_drained(s: State, item: str, played_ms: int, now: float) -> None:
    """Note that nothing is left to play: a reply that still streams may go on, any other has been heard."""
    s.playing = s.reading_out = False
    s.last_sound_at = now
    if s.reply and s.reply.phase is Phase.STREAMING:
        if not item.startswith(do.CLIP_ITEM):  # "one moment" does not give the provider more time
            s.reply.since = now
        return
    s.publish(page.PlaybackFinished(item, played_ms))
    heard_out(s, now)


def heard_out(s: State, now: float) -> None:
    """Settle what was heard to its end: the floor is free, idling counts from here, a goodbye ends the call."""
    over = s.items.take_finished()
    s.opened |= bool(over)
    for spoken in over:
        _heard_whole(s, spoken)
    if not any(spoken.purpose is Purpose.NUDGE for spoken in over):
        s.idle_since = now
    if s.floor is Floor.ASSISTANT:
        s.pass_floor(Floor.LISTENING)
    _let_speaker_go_on(s)
    if s.leaving and not s.last_word and s.reply is None and not s.wanted:
        close(s, s.leaving)


def on_flushed(s: State, event: ev.PlaybackFlushed) -> None:
    """Tell the provider, item by item, how much was heard of what was cut."""
    played = {heard.item: heard.played_ms for heard in event.items}
    for spoken in s.items.take_all():
        played_ms = played.get(spoken.item, spoken.heard_before_ms + spoken.audio_ms) - spoken.heard_before_ms
        played_ms = max(0, min(played_ms, spoken.audio_ms))
        if spoken.finished and spoken.audio_bytes and spoken.item not in played:
            _heard_whole(s, spoken)
        else:
            _heard_partly(s, spoken, played_ms)


def bring_back(s: State) -> None:
    """Go on with the reply that was cut, from where it was cut: what cut it was not meant for us."""
    parked, s.parked = s.parked, None
    if parked is None or not parked.items or s.playing or s.floor is not Floor.LISTENING:
        return
    for spoken in parked.items:
        s.items.put_back(spoken)
    last = parked.items[-1]
    if parked.cut_short:
        last.text = f"{last.text} {CUT_SHORT}".strip()
    s.playing = True
    s.pass_floor(Floor.ASSISTANT)
    s.commands.append(do.RestorePlayback(last.item, last.heard_before_ms + last.audio_ms))


def _let_speaker_go_on(s: State) -> None:
    """Give the floor to somebody who began to speak over the end of a reply: it is an answer, not an interruption."""
    utterance = s.utterance
    if utterance is None or s.floor not in (Floor.LISTENING, Floor.HELD) or s.something_to_interrupt:
        return
    if utterance.murmured_ms and not s.our_words.endswith("?"):
        return
    if s.floor is Floor.HELD:
        release_hold(s)
    s.open = OpenTurn(quiet_since=utterance.paused_at or 0.0, reading=utterance.reading)
    join_overlap(s)
    s.pass_floor(Floor.USER)


def _heard_whole(s: State, spoken: SpokenItem) -> None:
    text = spoken.text.strip()
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, spoken.audio_ms, text)
    if text:
        s.note_our_words(text)
        s.publish(page.TranscriptCompleted("assistant", spoken.item, text))
        s.commands.append(do.Remember("assistant", text))
    if spoken.restored:
        _note_restored(s, text)


def _heard_partly(s: State, spoken: SpokenItem, played_ms: int) -> None:
    false_start = s.parked is not None and s.parked.false_start
    heard = "" if false_start else spoken.heard(played_ms)
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, played_ms, heard)
    elif s.parked is not None and spoken.audio_bytes:
        s.parked.items.append(
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
    elif s.lost_at is None and s.floor is not Floor.CLOSED:
        said = played_ms > 0 and not false_start
        s.commands.append(do.TruncateItem(spoken.item, played_ms, heard) if said else do.DeleteItem(spoken.item))
    s.publish(page.TranscriptInterrupted(spoken.item, heard, spoken.text.strip()))
    if heard:
        s.note_our_words(heard)
        s.commands.append(do.Remember("assistant", heard))


def _note_restored(s: State, heard: str) -> None:
    """Tell the provider what was said of an item it knows as cut."""
    if heard and s.lost_at is None and s.floor is not Floor.CLOSED:
        s.commands.append(do.AddNote(f"The caller had not meant you, so you went on and said: {json.dumps(heard)}"))
