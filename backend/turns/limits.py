"""The time limits of turn-taking, in seconds unless a name says otherwise."""

from typing import Literal

from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.value_object import ValueObject

COMMIT_AFTER_MS = 120
"""Silence after which a segment is committed, so that its words are known early; not in the eager style. Of 225
segments of synthetic speech 15 have a silence of 120 ms or more within, 19 one of 100, and 32 one of 80."""
READ_AFTER_MS = 120
"""Silence after which a short utterance is classified, where there is an utterance classifier."""
READ_OVER_REPLY_AFTER_MS = 80
"""Silence after which an utterance over a reply is classified, since "stop" must not wait: 30 ms sooner in the median,
as many backchannels spared."""
READ_PARTLY_AT_MS = (300, 340, 420, 540, 960)
"""Lengths of speech over a reply at which it is classified while it goes on: a command takes the floor immediately, and
a murmur is given longer. Two readings find more than one: of 129 backchannels 85 % are spared instead of 74, and
"stop" and "wait" end the reply 75 ms sooner (median of 54). The second finds them 20 ms sooner by telephone
(median of 84), the fourth is for agreements of two words, the last for long ones."""
MURMUR_MAX_MS = 1150
"""Speech this long takes the floor even if it began as a murmur ("yeah okay, but ...")."""
LONG_MURMUR_MAX_MS = 1400
"""Speech this long takes the floor even if the last reading was a murmur: "I see, I see", laughter."""
DOUBT_MAX_MS = 700
"""Speech this long takes the floor if only a later reading found words in it."""
TURN_MIN_MS = 80
"""Speech shorter than this, with no reply to interrupt, is noise and not a turn."""
FIRST_AUDIO_WITHIN_S = 4.5
"""The time in which a reply must begin to sound; otherwise it is asked for once more, then apologised for. Twice this
is under the ten seconds in which every turn has to end in speech."""
STALL_AFTER_S = 8
"""A reply that began and then says nothing for this long is given up."""
CANCEL_WITHIN_S = 3
"""The time in which the provider should confirm a cancellation; after it the call goes on without."""
RETRY_AFTER_S = 0.25
"""The pause before a refused reply is asked for again."""
MOMENT_AFTER_S = 1.5
"""The length of a reconnection after which the caller hears that it takes a moment."""
SILENCE_MOST_S = 3.1
"""The longest silence while the caller is owed a sound. Four seconds are the most that may pass; the
way to the caller's ear takes some of them."""
FIRST_TRY_S = 0.6
"""The least time a reply has to begin to sound before the caller hears that it takes a moment."""
NOTICE_RETRY_S = 2.0
"""The pause before a notice is repeated of which nothing was heard."""
GOODBYE_WITHIN_S = 10
"""The time for the goodbye to be heard, after which the call ends anyway."""


class TurnLimits(ValueObject):
    """The limits that an operator, a caller or a caller's program can set."""

    style: EndpointingStyle = EndpointingStyle.BALANCED
    """The endpointing style, which sets how long the caller's turn may still go on after a pause."""
    reader: bool = False
    """An utterance classifier is there."""
    interruption_min_ms: int = 580
    """Speech this long takes the floor from a reply, whatever is said; shorter speech is classified. Of seven voices
    "uh-huh", "right" and "I see" are voiced for 140-600 ms, and so are "stop", "wait" and "no"."""
    interruptible: bool = True
    """The caller's voice may interrupt replies, unless it is switched for the call."""
    answers: bool = True
    """A spoken turn is answered; otherwise the caller's program asks for each reply."""
    cough_max_ms: int = 280
    """Shorter speech is a cough if it came while a reply was on its way, or over one and could not be classified."""
    idle_nudge_s: float = 15
    idle_disconnect_s: float = 60
    filler_after_s: float = 2.8
    """The silence before each filler while a Thinker works; 0: no fillers."""
    late_answer_max_s: float = 120
    """The age, counted from its question, up to which a late answer is spoken unasked; 0: never."""
    notice_after_s: float = 1.0
    """The quiet that a notice waits for."""
    other_providers: int = 0
    """The number of providers to which the call can change when its own is mute."""
    last_reply_within_s: float = 30
    """The time that a reply has to be heard to its end when the call reaches a limit."""
    endpointing: Literal["local", "provider"] = "local"
    greeting: bool = False
