"""The echo guard cancels the assistant's own voice in the caller's microphone, and changes nothing else.

Theory. A loudspeaker near the microphone, and a browser or a telephone that does not cancel echo, return what we play
100 to 900 ms later: filtered by the room, weaker by 6 to 40 dB. A detector takes it for the caller, who seems to
interrupt each reply with its own words. Most calls have no echo, and a canceller costs a hundredth of a core and a
little of the voice. So it is switched on once an echo has been found in a call, and stays on.

*Finding* it: while we play, and for `ECHO_FRAMES` after, each sound above the room's noise is compared with the
last 1.5 seconds of playback, by a cross-correlation with a flattened spectrum (GCC-PHAT, Knapp and Carter 1976). A
copy, however filtered, gives a peak at its delay. Two voices give none, even if one repeats the other's words
immediately. The peak is a share of what it would be with all frequencies in phase. Measured: another voice 0.05, in 1 %
of the comparisons 0.11, at most 0.18; 80 to 240 ms of an echo 0.06 to 0.77, the median 0.2. One peak of `SURE` is an
echo; so are two of `LIKELY` at the same delay, and two of `SUSPICIOUS` in sounds that hardly overlap. An echo is found
after 120 ms of sound in the median, 320 at most. A comparison takes a third of a millisecond; it is made when a sound
begins, and more and more rarely while it lasts. If we have played for `CLEAR_FRAMES` and nothing came back, a sound
after a reply is surely the caller's, and a sound during a reply is compared less often: an echo can only be new, for
instance when the caller unplugs their headphones. Both sounds are faded in and out first: the edges of a tone that is
cut off have all frequencies, and two edges resemble each other.

*Cancelling* it: WebRTC's canceller (AEC3) gets each frame of the microphone with the frame played one echo delay ago,
less `HEADROOM_MS`. It finds delays up to half a second by itself, but ours may be longer, and it finds no echo that
comes before its cause. Each stream is counted in its own frames, so that jitter does not look like a changing delay.

*Keeping* it off: the sound that is left after cancelling is compared in the same way. If it is still a copy of what was
played (the delay has changed, or the canceller is still learning), the frames are dropped and the delay is measured
again. At the known delay, a likeness of `LEFT_OVER` counts as likely: a caller's voice has its highest peak at that
delay only by chance, and hardly ever twice.

Frames count as played when they leave (`played`) and as received when they are handed on (`clean`).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pywebrtc_audio import AudioProcessor

from backend.media.echo import EchoGuard
from backend.media.frame import FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE, SILENCE, Frame
from backend.media.vad import RoomGate, level

log = logging.getLogger(__name__)

NEAR_FRAMES = 25
"""Frames of the microphone that are compared: half a second, if the sound has lasted so long."""
ECHO_FRAMES = 75
"""Frames for which a played sound is kept, and may return: 1.5 s, so that delays up to a second are found."""
SURE = 0.30
LIKELY = 0.15
LIKELY_FRAMES = 50
"""The most frames from one likely peak to another."""
SUSPICIOUS = 0.11
SUSPICIOUS_FRAMES = range(15, 100)
"""Frames from one suspicious peak to another: at least so many that most of the sound is new."""
LEAST_FAR_FRAMES, ENOUGH_FAR_FRAMES = 16, 40
"""Frames of sound before any comparison, and before a peak below `LIKELY` counts: in fewer, voices match by chance."""
SAME_DELAY_SAMPLES = 3 * SAMPLE_RATE // 1000
"""The largest difference between two delays that count as the same: 3 ms."""
FIRST_LOOK = 4
"""Loud frames before the first comparison: an echo of 80 ms mostly differs from a voice."""
LOOK_EVERY = 3
"""Loud frames from one comparison to the next; after `LOOKS_SOON` comparisons, each takes twice as long."""
LOOKS_SOON = 6
LOOK_CLEAR = 12
"""Loud frames before the first comparison, and between it and the next, where no echo is expected: 240 ms, so that two
comparisons come before a voice interrupts."""
LOOK_SELDOM = 100
"""The most loud frames between two comparisons: two seconds."""
CLEAR_FRAMES = 75
"""Frames in which we are heard and the microphone is silent, after which an echo is not expected: 1.5 s."""
PLAYING_FRAMES = 10
"""Frames after the last one played in which we still count as heard: 200 ms."""
SUSPECTS = 16
"""The latest comparisons above `SUSPICIOUS` that are remembered."""
FAINT_DBFS = -58.0
"""The level below which no detector takes an echo for a voice."""
QUIET_FRAMES = 10
"""Frames without a sound after which the next sound is a new one."""
SHORTEST_DELAY_MS = 40
"""The shortest delay of an echo: nothing returns sooner through two networks' buffers and a sound card."""
HEADROOM_MS = 40
"""Milliseconds by which the canceller gets a played sound before its echo."""
LONGEST_LEFT_SAMPLES = SAMPLE_RATE // 10
"""The longest delay left to the canceller (100 ms); if the delay is longer or negative, it is aligned again."""
LEFT_OVER = 0.07
"""The likeness that counts as likely at the delay of the echo that is being cancelled."""
DROP_FRAMES = 8
"""Frames dropped when an echo has been found or has got through: 160 ms."""

_NOTHING = -100.0
_DECIMATION = 3
"""The factor from 24 kHz down to 8 kHz, at which sounds are compared."""
_FAR = ECHO_FRAMES * FRAME_SAMPLES // _DECIMATION
_LAGS = (ECHO_FRAMES - NEAR_FRAMES) * FRAME_SAMPLES // _DECIMATION - SHORTEST_DELAY_MS * 8
_RATE = SAMPLE_RATE // _DECIMATION
_BAND = slice(200 * _FAR // _RATE, 3600 * _FAR // _RATE)
"""The frequency bins of a voice that every telephone transmits."""
BROAD_BINS = 20
"""The fewest bins in which both must have sound. A voice and its echo have 75 and more; a tone, which resembles any
sound of its pitch at some delay, has 1 to 3. A played sound must have its power in as many: spoken replies have it in
57 to 520, tones of 0.3 to 1.2 s in 2 to 8. Without this, 27 of 100 voices soon after a tone counted as its echo."""
_FADE = (0.5 - 0.5 * np.cos(np.pi * (np.arange(40) + 0.5) / 40)).astype(np.float32)
"""The factors of a fade-in of 5 ms."""
_FLATTENING = 0.85
"""The power by which the spectrum is flattened; 1 would give a bin without any sound the weight of a loud one."""

Samples = NDArray[np.int16]


class Canceller(Protocol):
    """An acoustic echo canceller for 24 kHz mono; WebRTC's has this shape."""

    def process(self, near: Samples, far: Samples) -> Samples:
        """Return `near` without the echo of `far`, which is as long."""
        ...


class Match(NamedTuple):
    """The delay at which the microphone is most like what was played."""

    likeness: float
    """From 0 to 1; at 1, all frequencies are in phase."""
    shift: int
    """Samples from the beginning of the played sound to the place in it where the microphone's sound begins."""


class _Suspect(NamedTuple):
    """A comparison that may have found an echo."""

    at: int
    """The number of frames received by then."""
    offset: int
    likeness: float

    def confirms(self, earlier: _Suspect) -> bool:
        """Return whether the two comparisons together prove an echo."""
        if abs(self.offset - earlier.offset) > SAME_DELAY_SAMPLES:
            return False
        frames = self.at - earlier.at
        if min(self.likeness, earlier.likeness) >= LIKELY:
            return frames <= LIKELY_FRAMES
        return frames in SUSPICIOUS_FRAMES


def webrtc_canceller() -> Canceller:
    """Return WebRTC's canceller, AEC3."""
    canceller: Canceller = AudioProcessor(sample_rate=SAMPLE_RATE, echo_cancellation=True)
    return canceller


class CancellingEchoGuard(EchoGuard):
    """Removes the echo of the sound played to one caller from the sound received from that caller.

    Not thread-safe: everything happens on the event loop.
    """

    def __init__(self, make_canceller: Callable[[], Canceller] = webrtc_canceller) -> None:
        """`make_canceller` is called when the call turns out to need a canceller."""
        self.delay_ms: int | None = None
        """Milliseconds from the sending of a sound to its return, as last measured; None without an echo."""
        self._make_canceller = make_canceller
        self._canceller: Canceller | None = None
        self._far: deque[Frame] = deque(maxlen=ECHO_FRAMES)
        self._near: deque[Frame] = deque(maxlen=NEAR_FRAMES)
        self._played = self._received = 0  # frames so far
        self._echoing = 0  # frames for which what was played may still return
        self._shift = 0  # frames from the count of a received frame to that of the played one it is cancelled with
        self._gate = RoomGate()
        self._quiet = self._clear = self._looks = 0
        self._interval = LOOK_EVERY
        self._until_look = FIRST_LOOK
        self._suspects: deque[_Suspect] = deque(maxlen=SUSPECTS)
        self._drop = 0

    def played(self, frame: Frame | None) -> None:
        self._played += 1
        if frame is not None:
            self._echoing = ECHO_FRAMES
        elif not self._echoing:
            return
        self._far.append(frame or SILENCE)

    def clean(self, frame: Frame) -> Frame:
        self._received += 1
        if not self._echoing:
            return frame
        self._echoing -= 1
        if self._canceller is not None:
            frame = self._cancel(self._canceller, frame)
        self._near.append(frame)
        if self._is_time_to_look(frame) and (offset := self._look()) is not None:
            self._align(offset)
            self._drop = DROP_FRAMES
        if not self._echoing:
            self._far.clear()
            self._near.clear()
        if self._drop:
            self._drop -= 1
            return SILENCE
        return frame

    def _cancel(self, canceller: Canceller, frame: Frame) -> Frame:
        """Return the frame without echo; silence stays silence, which a detector need not look at."""
        ago = self._played - self._received - self._shift
        far = self._far[-1 - ago] if 0 <= ago < len(self._far) else SILENCE
        cleaned = canceller.process(np.frombuffer(frame, dtype="<i2"), np.frombuffer(far, dtype="<i2"))
        return frame if frame is SILENCE else Frame(cleaned.tobytes())

    def _is_time_to_look(self, frame: Frame) -> bool:
        """Follow the sounds and decide whether this one is worth a comparison now."""
        playing = self._echoing > ECHO_FRAMES - PLAYING_FRAMES
        dbfs = _NOTHING if frame is SILENCE else level(frame)
        if not self._gate.opens(dbfs) or dbfs < FAINT_DBFS:
            self._quiet += 1
            if self._quiet >= QUIET_FRAMES:
                self._clear += playing and self._canceller is None
                self._look_soon(expected=self._clear < CLEAR_FRAMES)
            return False
        self._quiet = 0
        if self._clear >= CLEAR_FRAMES and not playing:
            return False
        self._until_look -= 1
        if self._until_look:
            return False
        self._until_look = self._interval
        self._looks += 1
        if self._looks >= LOOKS_SOON:
            self._interval = min(2 * self._interval, LOOK_SELDOM)
        return True

    def _look_soon(self, *, expected: bool) -> None:
        """Compare the next sound from its beginning; less often where an echo is not `expected`."""
        if expected:
            self._until_look, self._interval, self._looks = FIRST_LOOK, LOOK_EVERY, 0
        else:
            self._until_look, self._interval, self._looks = LOOK_CLEAR, LOOK_CLEAR, LOOKS_SOON

    def _look(self) -> int | None:
        """Return the samples from a received sample back to the played one that it echoes; None without an echo."""
        sounding = sum(frame is not SILENCE for frame in self._far)
        if sounding < LEAST_FAR_FRAMES:
            return None
        likeness, shift = compare(b"".join(self._near), b"".join(self._far))
        offset = (self._played - ECHO_FRAMES - self._received + NEAR_FRAMES) * FRAME_SAMPLES + shift
        if likeness >= LEFT_OVER and self._canceller is not None:
            left = self._shift * FRAME_SAMPLES - offset
            if 0 <= left <= LONGEST_LEFT_SAMPLES:
                likeness = max(likeness, LIKELY)  # where the echo is known to be, less is enough
        if likeness < (SUSPICIOUS if sounding >= ENOUGH_FAR_FRAMES or self._canceller else LIKELY):
            return None
        suspect = _Suspect(self._received, offset, likeness)
        found = likeness >= SURE or any(suspect.confirms(earlier) for earlier in self._suspects)
        self._suspects.append(suspect)
        return offset if found else None

    def _align(self, offset: int) -> None:
        """Switch the canceller on, or give it another delay where it cannot find the new one by itself."""
        self.delay_ms = (self._played - self._received) * FRAME_MS - offset * 1000 // SAMPLE_RATE
        self._clear = 0
        self._look_soon(expected=True)
        self._until_look = LOOK_EVERY
        if self._canceller is None:
            self._canceller = self._make_canceller()
            log.info("a call has an echo of %d ms, which is cancelled from now on", self.delay_ms)
        elif 0 <= self._shift * FRAME_SAMPLES - offset <= LONGEST_LEFT_SAMPLES:
            return
        self._shift = (offset + HEADROOM_MS * SAMPLE_RATE // 1000) // FRAME_SAMPLES


def compare(near: bytes, far: bytes) -> Match:
    """Compare `NEAR_FRAMES` of the microphone with `ECHO_FRAMES` of what was played; either may lack its beginning."""
    near_bins = np.fft.rfft(_prepared(near, NEAR_FRAMES), _FAR)[_BAND]
    far_bins = np.fft.rfft(_prepared(far, ECHO_FRAMES))[_BAND]
    power = np.square(np.abs(far_bins))
    if float(power.sum()) ** 2 < BROAD_BINS * float(power @ power):
        return Match(0.0, 0)
    bins = far_bins * near_bins.conj()
    size = np.abs(bins)
    if not size.any() or float(size.sum()) ** 2 < BROAD_BINS * float(size @ size):
        return Match(0.0, 0)
    weights = np.exp(-_FLATTENING * np.log(size + (1e-3 * size.mean() + 1)))
    spectrum = np.zeros(_FAR // 2 + 1, np.complex64)
    np.multiply(bins, weights, out=spectrum[_BAND])
    peaks = np.fft.irfft(spectrum)[:_LAGS]
    at = int(peaks.argmax())
    all_in_phase = float(size @ weights) * 2 / _FAR
    return Match(float(peaks[at]) / all_in_phase, at * _DECIMATION)


def _prepared(pcm: bytes, frames: int) -> NDArray[np.float32]:
    """Return the samples at 8 kHz, faded in and out; a sound shorter than `frames` gets silence before it.

    Nothing larger than the result is allocated: new pages of memory would take longer than all the rest of this.
    """
    samples = np.frombuffer(pcm, dtype="<i2")
    prepared = np.zeros(frames * FRAME_SAMPLES // _DECIMATION, np.float32)
    sound = prepared[len(prepared) - len(samples) // _DECIMATION :]
    np.add(samples[0::3], samples[1::3], out=sound, dtype=np.float32)
    sound += samples[2::3]
    sound[: len(_FADE)] *= _FADE
    sound[-len(_FADE) :] *= _FADE[::-1]
    return prepared
