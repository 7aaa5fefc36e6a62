"""The primary speaker: of all voices that the detector finds, the caller's.

A detector finds speech, but not who speaks. In a room with others (babble, a television, a second talker) it finds
speech without a pause, and an utterance would never end. The caller is near the microphone, and therefore louder:
`PrimarySpeaker` follows the levels of this caller and of the room, and accepts only a voice that stands out of the
room. Pure: frames and scores in, a decision out; the frames, 20 ms each, are its only clock.

All levels are mean powers of some frames, in dB of full scale: of `ONSET_FRAMES` where a voice may begin, of
`STEADY_FRAMES` while it goes on. There a frame counts as no louder than the caller usually is, so that one loud
syllable does not outlast the voice. Three levels are followed:

- The *floor* is the quietest of the last 3 s. A single voice falls to the quiet room between its words; many voices
  together, or music, fall by some 6 dB only. A sound that never stands out of the floor is the room, however loud it
  is, even if it has been there from the beginning of the call.
- Most of the accepted voice stays below the *caller's level*. It follows a louder voice by 10 dB a second (a cough is
  too short to move it far; the first second of voice moves it immediately), a quieter one by 1 dB a second.
- Most of the voices that were not accepted stay below the *others' level*; it is forgotten `FORGET_FRAMES` after the
  last of them. If a caller is `BELOW_DB` louder than the voice accepted so far, that voice was another person's.

The *room* is the louder of the others' level and the floor's; where others are known, the floor must be clearly louder:
then more people have come in. A voice begins some way up from the room to the caller, and never more than `BELOW_DB`
below the caller. It goes on down to a lower limit, and for `HOLD_FRAMES` below that if the two are near each other or
no other voice is known: a caller's weak syllables are nearer to the room than the words of others, and it is better to
forward too much than too little.

A caller who has become quiet for good (who whispers, or has moved away) must not stay unheard. A rejected talker
therefore gets a *trial*, one accepted utterance: after `WAIT_FRAMES` of quiet, as after a question that waits for its
answer, or else (a television, people who talk) after `RELEARN_FRAMES` of rejected voice. A talker who goes on within
`ANSWER_FRAMES` of its end did not wait for an answer: the old level is back, and the next trial without a wait needs
twice as much voice. Otherwise the level of the trial becomes the caller's. A voice as loud as before ends a trial.

An utterance without any fall for `LONGEST_FRAMES` is the room: it ends, and the caller's level is learnt above it.

A voice may also be off-axis, whatever its level: see `off_axis`.
"""

import warnings
from collections import deque
from math import log10
from typing import Final

from backend.media.frame import SILENCE, Frame
from backend.media.off_axis import OffAxis

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it left Python with 3.13, and lives on in audioop-lts
    from audioop import rms

BELOW_DB: Final = 8.0
"""Decibels below the caller's level from which a voice is another's."""
LONGEST_FRAMES: Final = 750
"""The frames of voice without any fall after which the voice counts as the room: 15 s."""
RELEARN_FRAMES: Final = 750
"""Frames of a quieter voice, without a wait, after which it may be the caller's: 15 s."""
ONSET_FRAMES: Final = 3
STEADY_FRAMES: Final = 12
"""The frames of a steady level, 240 ms: of two syllables the louder is among them, and carries the weak one."""
SETTLING_FRAMES: Final = 5
"""The first frames of a decoder, which are quieter than the sound that was sent."""
BLOCK_FRAMES: Final = 25
BLOCKS: Final = 5
"""The whole blocks of which the floor is the quietest, with the present one: 2.5 to 3 s."""
QUIETEST_FLOOR_DBFS: Final = -70.0
LOUDEST_FLOOR_DBFS: Final = -24.0
BABBLE_DB: Final = 6.0
"""Decibels from the floor of a steady room up to the level that most of it stays below."""
LOUDER_DB: Final = 2.0
"""Decibels by which the floor's room must be louder than the others' level, to show that the room has become louder."""
STANDS_OUT_DB: Final = 3.0
"""Decibels above the steady part of the room from which a voice may begin."""
FIRST_DB: Final = 5.0
"""Decibels above the steady part of the room from which a voice may begin while no caller is known."""
GOES_ON_DB: Final = 1.5
TYPICAL_DB: Final = 2.0
"""Decibels by which the caller usually is quieter than the caller's level."""
BEGINS_PART: Final = 0.5
BEGINS_DB: Final = 4.0
"""A voice begins half of the way from the room to the caller, but at most this many decibels above the room."""
GOES_ON_PART: Final = 0.25
GOES_ON_OTHERS_DB: Final = 2.5
GOES_ON_MARGIN: Final = 1.25
"""The multiple of `BELOW_DB` by which the caller's voice may fall while it goes on."""
LEAST_DB: Final = 1.5
"""The least decibels of the caller above the room."""
RISE_DB: Final = 0.2
"""The most that a level rises, in decibels a frame: 10 dB a second."""
FALL_DB: Final = 0.02
LOUDEST_CALLER_DBFS: Final = -14.0
"""The highest level of a caller. A louder voice comes of a browser's gain control, which begins too high: Chromium's
(156) sends a voice recorded at -20 dBFS with -10 in the first two seconds, and with -21 from then on.
"""
LEARNT_FRAMES: Final = 50
"""Frames of voice after which a level is known."""
HOLD_FRAMES: Final = 7
HOLD_ALL_DB: Final = 6.5
HOLD_NONE_DB: Final = 10.0
"""Decibels between caller and room from which nothing is held; below `HOLD_ALL_DB` everything is."""
ALONE_MARGIN: Final = 1.5
"""The multiple of `BELOW_DB` by which a voice may begin below the caller's while no other voice is known."""
ALONE_DB: Final = 20.0
"""Decibels between the caller and the room from which, with no other voice known, only the detector ends a voice."""
SOFT_DB: Final = 18.0
"""Decibels by which the first consonant of a caller may be quieter than their voice."""
OWN_DB: Final = 6.0
"""Decibels by which another talker in a quiet room is quieter than the caller, at least."""
STRETCH_FRAMES: Final = 25
"""The frames in which a soft beginning becomes the caller's voice: half a second."""
FORGET_FRAMES: Final = 1500
WAIT_FRAMES: Final = 125
"""The frames of quiet that earn a rejected talker a trial: 2.5 s."""
ANSWER_FRAMES: Final = 100
"""The frames of quiet after a trial that confirm it: 2 s."""
TALKER_DB: Final = 16.0
"""Decibels above the floor from which a rejected voice is one talker, not the murmur of many."""
LEAST_REJECTED_FRAMES: Final = 20
_NOTHING: Final = 1e-10


class PrimarySpeaker:
    """Distinguishes one caller's voice from others in the room."""

    def __init__(self) -> None:
        self._axis = OffAxis()
        self._short: deque[float] = deque([0.0] * ONSET_FRAMES, ONSET_FRAMES)
        self._long: deque[float] = deque([0.0] * STEADY_FRAMES, STEADY_FRAMES)
        """Powers, each no higher than `_ceiling`."""
        self._ceiling = 1.0
        self._settling = SETTLING_FRAMES
        self._block_least, self._block_left = 1.0, BLOCK_FRAMES
        self._blocks: deque[float] = deque([1.0], BLOCKS)
        self.floor_dbfs = LOUDEST_FLOOR_DBFS
        """The level of the quietest 60 ms in the last 3 s."""
        self.caller_dbfs: float | None = None
        """The level that most of the caller's voice stays below; None as long as no voice was accepted."""
        self.others_dbfs: float | None = None
        self._others_frames = 0
        self._earlier_dbfs = 0.0
        """The lower of the caller's present level and that of a while ago."""
        self._learnt_frames = 0
        self._unbroken_frames = 0
        """The accepted frames in a row."""
        self._low_frames = 0
        """The frames in a row below the limit, within an utterance."""
        self._quiet_frames = 0
        """The frames in a row without any voice."""
        self._since_rejected_frames = 0
        self._rejected_frames = 0
        """The rejected frames of voice since the caller's last."""
        self._before_stretch: tuple[float | None, int, int] | None = None
        """The others' level and frames, and the rejected frames, before the present rejected voice began."""
        self._stretch_frames = 0
        """The frames since the present rejected voice began."""
        self._trial_frames = RELEARN_FRAMES
        """The rejected frames that earn a trial."""
        self._before_trial: float | None = None
        """The caller's level before the present trial; None without a trial."""

    @property
    def off_axis(self) -> bool:
        """Return whether the voice of the present utterance, or of the last, sounds off-axis: see `OffAxis`."""
        return self._axis.off_axis

    @property
    def room_dbfs(self) -> float:
        """The level that most sounds of the room stay below, the caller's aside."""
        if self.others_dbfs is None or self._is_callers_own:
            return self.floor_dbfs + BABBLE_DB
        by_floor = self.floor_dbfs + BABBLE_DB
        if self._others_frames < LEARNT_FRAMES or by_floor > self.others_dbfs + LOUDER_DB:
            return max(by_floor, self.others_dbfs)
        return self.others_dbfs

    @property
    def _others_known(self) -> bool:
        """Return whether another talker was heard for long enough to differ from the caller's weak syllables."""
        return self.others_dbfs is not None and self._others_frames >= LEARNT_FRAMES and not self._is_callers_own

    @property
    def _is_callers_own(self) -> bool:
        """Return whether the voice rejected in a quiet room was the caller's: it is nearly as loud."""
        if self.others_dbfs is None or self.caller_dbfs is None:
            return False
        alone = self.caller_dbfs - self.floor_dbfs > ALONE_DB + BABBLE_DB
        return alone and self.others_dbfs > self.caller_dbfs - OWN_DB

    @property
    def _steady_dbfs(self) -> float:
        """Return the level that the steady part of the room, without talkers, mostly stays below."""
        return min(self.floor_dbfs + BABBLE_DB, self.room_dbfs)

    def accepts(self, frame: Frame, is_voice: bool, is_begun: bool) -> bool:
        """Return whether a frame is the caller's voice.

        `is_voice`: the detector found speech; `is_begun`: an utterance is under way, its hangover included.
        """
        power = 0.0 if frame is SILENCE else (rms(frame, 2) / 32768) ** 2
        self._short.append(power)
        self._long.append(min(power, self._ceiling))
        short = sum(self._short) / ONSET_FRAMES
        self._follow_floor(short)
        if not is_voice:
            self._note_quiet()
            return False
        dbfs = _dbfs(short)
        if self._stretch_frames > STRETCH_FRAMES:
            self._before_stretch = None
        if self._before_trial is not None:
            self._verify(dbfs, is_begun)
        if self._unbroken_frames >= LONGEST_FRAMES:
            self._begin_again()
        if self._goes_on() if is_begun else self._begins(dbfs, _dbfs(power)):
            if not is_begun:
                self._long.extend([min(short, self._ceiling)] * STEADY_FRAMES)
                self._axis.begin()
            self._take_back_rejected()
            self._accept(dbfs)
            self._axis.follow(frame)
            return True
        self._reject(dbfs)
        return False

    def may_begin(self) -> bool:
        """Return whether the latest frame may be the first of the caller's voice, which begins softly.

        This is possible only in a quiet room without another known voice; elsewhere the level says too little.
        """
        caller, steady = self.caller_dbfs, self._steady_dbfs
        if caller is None or self._others_known or caller - steady <= ALONE_DB:
            return False  # the caller is unknown, not alone, or too near to the room
        return _dbfs(self._short[-1]) >= max(steady + STANDS_OUT_DB, caller - TYPICAL_DB - SOFT_DB)

    # --- decisions -------------------------------------------------------------------------------------------------

    def _begins(self, dbfs: float, now_dbfs: float) -> bool:
        """Return whether a voice begins, by its mean level `dbfs` and the level `now_dbfs` of the latest frame."""
        caller, steady = self.caller_dbfs, self._steady_dbfs
        if caller is None:
            return dbfs >= self._least(steady + FIRST_DB)
        room = min(self.room_dbfs, caller - LEAST_DB)
        between = min(room + BEGINS_DB, room + BEGINS_PART * (caller - room))
        near = caller - TYPICAL_DB - BELOW_DB * (1.0 if self._others_known else ALONE_MARGIN)
        # The voice stands out of the room and is as loud as the caller's, or is rejected but due for a trial.
        return (dbfs >= max(steady + STANDS_OUT_DB, between) and max(dbfs, now_dbfs) >= near) or self._begins_trial(
            dbfs
        )

    def _goes_on(self) -> bool:
        caller, steady = self.caller_dbfs, self._steady_dbfs
        dbfs = _dbfs(sum(self._long) / STEADY_FRAMES)
        if caller is None:
            return dbfs >= self._least(steady + GOES_ON_DB)
        if not self._others_known and caller - steady > ALONE_DB:
            self._low_frames = 0
            return dbfs >= steady + GOES_ON_DB
        room = self.room_dbfs
        distance = HOLD_ALL_DB if self.others_dbfs is None else caller - room
        room = min(room, caller - LEAST_DB)
        between = min(room + GOES_ON_OTHERS_DB, room + GOES_ON_PART * (caller - room))
        near = caller - TYPICAL_DB - GOES_ON_MARGIN * BELOW_DB
        if dbfs >= max(steady + GOES_ON_DB, between, near):
            self._low_frames = 0
            return True
        self._low_frames += 1
        share = (HOLD_NONE_DB - distance) / (HOLD_NONE_DB - HOLD_ALL_DB)
        return self._low_frames <= round(HOLD_FRAMES * min(share, 1.0))

    def _least(self, stands_out: float) -> float:
        """Return the level from which a voice is accepted while the caller is unknown."""
        return stands_out if self.others_dbfs is None else max(stands_out, self.room_dbfs + LEAST_DB)

    # --- levels ----------------------------------------------------------------------------------------------------

    def _accept(self, dbfs: float) -> None:
        dbfs = min(dbfs, LOUDEST_CALLER_DBFS)
        if self.caller_dbfs is None:
            self.caller_dbfs = dbfs
        known = self._learnt_frames >= LEARNT_FRAMES
        caller = _followed(self.caller_dbfs, dbfs, RISE_DB if known else 1.0)
        earlier = min(self._earlier_dbfs + FALL_DB, caller) if known else caller
        if caller > earlier + BELOW_DB:
            self.others_dbfs, earlier = earlier, caller
        self.caller_dbfs, self._earlier_dbfs = caller, earlier
        self._ceiling = 10 ** (caller / 10)
        self._learnt_frames += 1
        self._unbroken_frames += 1
        self._quiet_frames = 0
        if self._before_trial is None:
            self._rejected_frames = 0

    def _take_back_rejected(self) -> None:
        """Forget the voice that was rejected just before this one: it was the soft beginning of the caller's."""
        if self._before_stretch is not None:
            self.others_dbfs, self._others_frames, self._rejected_frames = self._before_stretch
            self._before_stretch = None

    def _reject(self, dbfs: float) -> None:
        if self._before_stretch is None:
            self._before_stretch = (self.others_dbfs, self._others_frames, self._rejected_frames)
            self._stretch_frames = 0
        self._stretch_frames += 1
        if self.others_dbfs is None:
            self.others_dbfs, self._others_frames = dbfs, 0
        self._others_frames += 1
        self.others_dbfs = _followed(self.others_dbfs, dbfs, RISE_DB)
        self._unbroken_frames = self._quiet_frames = self._since_rejected_frames = 0
        self._rejected_frames += dbfs > self.floor_dbfs + TALKER_DB

    def _note_quiet(self) -> None:
        self._stretch_frames += 1
        self._unbroken_frames = 0
        self._quiet_frames += 1
        self._since_rejected_frames += 1
        if self._since_rejected_frames > FORGET_FRAMES:
            self.others_dbfs = None
        if self._before_trial is not None and self._quiet_frames > ANSWER_FRAMES:
            self._before_trial = None
            self._rejected_frames = 0
            self._trial_frames = RELEARN_FRAMES

    def _begin_again(self) -> None:
        """Count the voice that was accepted so far as the room."""
        self.others_dbfs, self.caller_dbfs, self._before_trial = self.caller_dbfs, None, None
        self._learnt_frames = self._unbroken_frames = 0
        self._ceiling = 1.0

    def _follow_floor(self, short: float) -> None:
        if self._settling:
            self._settling -= 1
            return
        self._block_left -= 1
        if not self._block_left:
            self._blocks.append(self._block_least)
            self._block_least, self._block_left = 1.0, BLOCK_FRAMES
        elif short >= self._block_least:
            return
        self._block_least = min(self._block_least, short)
        least = _dbfs(min(self._block_least, min(self._blocks)))
        self.floor_dbfs = min(max(least, QUIETEST_FLOOR_DBFS), LOUDEST_FLOOR_DBFS)

    # --- trials ----------------------------------------------------------------------------------------------------

    def _begins_trial(self, dbfs: float) -> bool:
        """Begin the trial of a voice that is too quiet for the caller, if it has earned one; return whether."""
        waited = self._quiet_frames > WAIT_FRAMES and self._rejected_frames >= LEAST_REJECTED_FRAMES
        if not waited and self._rejected_frames < self._trial_frames:
            return False
        if min(dbfs, self.room_dbfs) < self.floor_dbfs + TALKER_DB:
            return False
        self._before_trial, self.caller_dbfs, self.others_dbfs = self.caller_dbfs, dbfs, None
        self._learnt_frames = 0
        return True

    def _verify(self, dbfs: float, is_begun: bool) -> None:
        """End a trial if its voice goes on too soon, or the caller's old level is back."""
        assert self._before_trial is not None
        if dbfs > self._before_trial - TYPICAL_DB - BELOW_DB / 2 or not is_begun:
            self.others_dbfs, self.caller_dbfs, self._before_trial = self.caller_dbfs, self._before_trial, None
            self._learnt_frames = LEARNT_FRAMES
            self._rejected_frames = 0
            self._trial_frames *= 2


def _dbfs(power: float) -> float:
    return 10 * log10(power) if power > _NOTHING else -100.0


def _followed(level: float, dbfs: float, rise: float) -> float:
    """Return a level after a frame of `dbfs`: it rises by `rise` at most, and falls by `FALL_DB`."""
    return max(level - FALL_DB, min(dbfs, level + rise))
