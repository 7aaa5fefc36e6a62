"""The rules that turn playback down for a voice that sounds or may be beginning, but not for another person's."""

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.actions import end_hint, hold, release_hold
from backend.turns.machine.barge_in.state import BargeIn
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.state import State

ASIDE = "aside"
"""The kind of murmur that is meant for another person."""


def on_hint(s: State, event: ev.OnsetHinted, now: float) -> None:
    """Turn playback down for a voice that may be beginning, and up again where none began."""
    if not event.hinted:
        end_hint(s)
    elif s.floor.holder is Floor.ASSISTANT and s.may_interrupt and s.may_duck and s.floor.voice is None:
        s.barge_in.phase = BargeIn.HINTED
        s.commands.append(do.DuckPlayback())


def on_off_axis_while_held(s: State, event: ev.VoiceOffAxis, now: float) -> None:
    """Let the reply go on while a voice sounds like another person's."""
    if _note(s, event) and event.off_axis:
        s.publish(page.MurmurHeard(ASIDE, ""))
        release_hold(s)


def on_off_axis(s: State, event: ev.VoiceOffAxis, now: float) -> None:
    """Hold the reply again when the voice is the caller's after all; its words until then do not count."""
    voice = s.floor.voice
    if not _note(s, event) or event.off_axis or voice is None or voice.running_since is None:
        return  # still another person's voice, or none that sounds
    if s.floor.holder is Floor.ASSISTANT and s.may_interrupt:
        voice.voiced_ms += round((now - voice.running_since) * 1000)
        voice.running_since, voice.murmured_ms = now, voice.voiced_ms
        hold(s)


def _note(s: State, event: ev.VoiceOffAxis) -> bool:
    """Note whether the voice over our reply is off-axis; return False where no voice sounds over a reply."""
    if s.floor.voice is None or not s.floor.playing:
        return False
    s.floor.voice.off_axis = event.off_axis
    return True
