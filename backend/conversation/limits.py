"""The time limits of turn-taking, in seconds unless a name says otherwise. 0 switches idling off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits that the operator can set, and those that the rules need."""

    interruption_min_ms: int = 280
    """Speech this long takes the floor from a reply; shorter is a cough. Of four voices "uh-huh" is voiced for
    140-280 ms (with TEN VAD 160-320), "hey stop" for 560-700."""
    turn_min_ms: int = 80
    """Speech shorter than this, with nobody to interrupt, is noise and not a turn."""
    idle_nudge_s: float = 15
    idle_disconnect_s: float = 60
    filler_after_s: float = 4
    """The silence a Thinker may leave before a filler covers it."""
    first_audio_within_s: float = 4.5
    """A reply must begin to sound in this time, or is asked for once more, or apologised for: twice this is
    under the ten seconds in which every turn has to end in speech."""
    stall_after_s: float = 8
    """A reply that began and then says nothing for this long is given up."""
    cancel_within_s: float = 3
    """The provider should confirm a cancellation in this time; then we go on without."""
    retry_after_s: float = 0.25
    """Pause before a refused reply is asked for again."""
    moment_after_s: float = 1.5
    """A reconnection longer than this is spoken about."""
    notice_after_s: float = 1.0
    """The quiet that a notice waits for."""
    notice_retry_s: float = 2.0
    """Pause before a notice is repeated of which nothing was heard."""
    goodbye_within_s: float = 10
    """The goodbye has this long to be heard before we hang up anyway."""
    endpointing: Literal["local", "provider"] = "local"
    greeting: bool = False
