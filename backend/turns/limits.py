"""The time limits of turn-taking, in seconds unless a name says otherwise. 0 switches idling off."""

from __future__ import annotations

from typing import Literal

from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.value_object import ValueObject

COMMIT_AFTER_MS = 120
"""Silence after which a segment of a turn is committed, so that its words are known early; not when eager. Of 225
segments of synthetic speech 15 have a silence of 120 ms or more within, 19 one of 100, and 32 one of 80."""
READ_AFTER_MS = 120
"""Silence after which a short utterance is read, where there is a reader."""
READ_OVER_REPLY_AFTER_MS = 80
"""The same over a reply, where "stop" must not wait: 30 ms sooner in the median, as many backchannels spared."""
READ_PARTLY_AT_MS = (300, 340, 420, 540, 960)
"""Speech over a reply that lasts so long is read while it goes on: a command takes the floor immediately, and what
sounds like a murmur is given longer. Two readings find more than one: of 129 backchannels 85 % are spared instead
of 74, and "stop" and "wait" end the reply 75 ms sooner (median of 54). The second finds them 20 ms sooner by
telephone (median of 84), the fourth is for agreements of two words, the last for long ones."""
MURMUR_MAX_MS = 1150
"""Speech this long takes the floor even if it began as a murmur ("yeah okay, but ...")."""
LONG_MURMUR_MAX_MS = 1400
"""The same limit for speech that still reads as a murmur at the last reading: "I see, I see", laughter."""
DOUBT_MAX_MS = 700
"""The same limit for speech in which words were found only at a later reading."""
TURN_MIN_MS = 80
"""Speech shorter than this, with no reply to interrupt, is noise and not a turn."""
FIRST_AUDIO_WITHIN_S = 4.5
"""A reply must begin to sound in this time, or is asked for once more, or apologised for: twice this is
under the ten seconds in which every turn has to end in speech."""
STALL_AFTER_S = 8
"""A reply that began and then says nothing for this long is given up."""
CANCEL_WITHIN_S = 3
"""The provider should confirm a cancellation in this time; then we go on without."""
RETRY_AFTER_S = 0.25
"""Pause before a refused reply is asked for again."""
MOMENT_AFTER_S = 1.5
"""A reconnection longer than this is spoken about."""
SILENCE_MOST_S = 3.1
"""The longest silence of a caller who is owed something. Four seconds are the most that may pass; the
way to the caller's ear takes some of them."""
FIRST_TRY_S = 0.6
"""The least time a reply has to begin to sound before the caller hears that it takes a moment."""
NOTICE_RETRY_S = 2.0
"""Pause before a notice is repeated, if nothing of it was heard."""
GOODBYE_WITHIN_S = 10
"""Time for the goodbye to be heard before we hang up anyway."""


class TurnLimits(ValueObject):
    """The limits that an operator, a caller or a caller's program can set."""

    style: EndpointingStyle = EndpointingStyle.BALANCED
    """How long the caller's turn may still go on once it has paused."""
    reader: bool = False
    """An utterance classifier is there."""
    interruption_min_ms: int = 580
    """Speech this long takes the floor from a reply, whatever is said; shorter is read. Of seven voices "uh-huh",
    "right" and "I see" are voiced for 140-600 ms, and so are "stop", "wait" and "no"."""
    interruptible: bool = True
    """The caller's voice may interrupt replies, unless it is switched for the call."""
    answers: bool = True
    """A spoken turn is answered; otherwise the caller's program asks for each reply."""
    cough_max_ms: int = 280
    """Shorter speech is a cough if it could not be read over a reply, or came while one was on its way."""
    idle_nudge_s: float = 15
    idle_disconnect_s: float = 60
    filler_after_s: float = 2.8
    """The silence a Thinker may leave before a filler covers it, and the next one after that; 0: none does."""
    late_answer_max_s: float = 120
    """An answer that comes when the caller has moved on is spoken unasked this long after its question; 0: never."""
    notice_after_s: float = 1.0
    """The quiet that a notice waits for."""
    other_providers: int = 0
    """Providers to which the call can change when its own is mute."""
    last_reply_within_s: float = 30
    """A reply that is being spoken when the call reaches a limit has this long to be heard to its end."""
    endpointing: Literal["local", "provider"] = "local"
    greeting: bool = False
