"""Playback reports what the caller hears, item by item; only that counts as said."""

from __future__ import annotations

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation import page_events as page
from backend.conversation.commands import Purpose
from backend.conversation.machine.moves import close
from backend.conversation.machine.state import Floor, Phase, State
from backend.conversation.spoken import SpokenItem


def on_playback_started(s: State, item: str, now: float) -> None:
    """Note that the first frame of an item was sent: the items before it have been heard."""
    s.owed_since = None
    report = s.clock.reach("played_ms", now)
    if report:
        s.publish(report)
    for spoken in s.items.take_before(item):
        _heard_whole(s, spoken)


def on_drained(s: State, item: str, played_ms: int, now: float) -> None:
    """Note that nothing is left to play: a reply that still streams may go on, any other has been heard."""
    s.playing = False
    s.last_sound_at = now
    if s.reply and s.reply.phase is Phase.STREAMING:
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
    s.last_sound_at = now
    if not any(spoken.purpose is Purpose.NUDGE for spoken in over):
        s.idle_since = now
    if s.floor is Floor.ASSISTANT:
        s.pass_floor(Floor.LISTENING)
    if s.leaving and s.reply is None and not s.wanted:
        close(s, s.leaving)


def on_flushed(s: State, event: ev.PlaybackFlushed) -> None:
    """Tell the provider, item by item, how much was heard of what was cut."""
    played = {heard.item: heard.played_ms for heard in event.items}
    for spoken in s.items.take_all():
        played_ms = min(played.get(spoken.item, spoken.audio_ms), spoken.audio_ms)
        if spoken.finished and spoken.audio_bytes and spoken.item not in played:
            _heard_whole(s, spoken)
        else:
            _heard_partly(s, spoken, played_ms)


def _heard_whole(s: State, spoken: SpokenItem) -> None:
    text = spoken.text.strip()
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, spoken.audio_ms, text)
    if text:
        s.publish(page.TranscriptCompleted("assistant", spoken.item, text))
        s.commands.append(do.Remember("assistant", text))


def _heard_partly(s: State, spoken: SpokenItem, played_ms: int) -> None:
    heard = spoken.heard(played_ms)
    if spoken.purpose is Purpose.NOTICE:
        s.notices.heard(spoken, played_ms, heard)
    if s.lost_at is None and s.floor is not Floor.CLOSED:
        s.commands.append(do.TruncateItem(spoken.item, played_ms) if played_ms > 0 else do.DeleteItem(spoken.item))
    s.publish(page.TranscriptInterrupted(spoken.item, heard, spoken.text.strip()))
    if heard:
        s.commands.append(do.Remember("assistant", heard))
