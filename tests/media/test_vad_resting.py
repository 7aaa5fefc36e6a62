"""A resting detector finds the same onsets and ends as one without rests, with half the work."""

from pathlib import Path

import numpy as np
import pytest

from backend.media.frame import FRAME_MS, Frame
from backend.media.segmenter import Segmenter
from backend.media.sound_file import read_audio
from backend.media.vad import CATCH_UP_FRAMES, SURE, HopVad, RestingVad, RoomGate, Vad
from backend.media.vad_silero import HOP_MS, SileroEngine
from backend.turns.events import SpeechStarted as Onset
from backend.turns.events import SpeechStopped as Ended
from tests.support.speech import frames_of, noise, pcm_of, samples_of, silence, tone

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.wav"))
HOP_FRAMES = -(-(HOP_MS + FRAME_MS) // FRAME_MS)
"""The delay of a score that falls one hop later: it is reported with the frame that completes it, 32 to 52 ms."""
EARLIER_FRAMES = {Onset: 2 * HOP_FRAMES, Ended: 2 * HOP_FRAMES}
"""Frames by which onsets and ends may be earlier: each frame is checked, and a quiet one ends a lingering score."""
ROOMS = {"in silence": None, "in a room at -55 dBFS": -55.0, "in a room at -48 dBFS": -48.0}


class Counting(HopVad):
    """A detector that keeps the frames it gets."""

    def __init__(self, says: float = 0.9) -> None:
        self.heard: list[Frame] = []
        self.skipped = 0
        self.says = says

    def score(self, frame: Frame) -> float:
        self.heard.append(frame)
        return self.says

    def feed(self, frame: Frame) -> None:
        self.heard.append(frame)

    def skip(self, frame: Frame) -> float:
        self.skipped += 1
        return self.says


class Noting(SileroEngine):
    """An engine that keeps the hops it scores."""

    def __init__(self) -> None:
        super().__init__()
        self.hops: list[bytes] = []

    def score_hop(self, pcm: bytes) -> float:
        self.hops.append(pcm)
        return super().score_hop(pcm)


def marked(number: int, *, loud: bool) -> Frame:
    return Frame((number.to_bytes(2, "little") if not loud else b"\xff\x1f") * 480)


def edges(vad: Vad, frames: list[Frame]) -> list[tuple[type, int]]:
    segmenter = Segmenter(100, 300, 15)
    return [
        (type(thing), number)
        for number, frame in enumerate(frames)
        for thing in segmenter.push(frame, vad.score(frame) >= 0.7)
        if isinstance(thing, Onset | Ended)
    ]


def recording(path: Path, gain_db: float, room_dbfs: float | None) -> list[Frame]:
    """Return a recording after eight seconds of the room, since the level of the room must be known."""
    voice = (samples_of(read_audio(path)) * 10 ** (gain_db / 20)).astype("<i2").tobytes()
    pcm = silence(8000) + voice + silence(1000)
    if room_dbfs is not None:
        pcm = pcm_of(samples_of(pcm) + samples_of(noise(len(pcm) // 48 + 1, dbfs=room_dbfs))[: len(pcm) // 2])
    return frames_of(pcm)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("gain_db", [0, -12])
def test_onsets_and_ends_stay_within_a_hop(path: Path, room: str, gain_db: float) -> None:
    frames = recording(path, gain_db, ROOMS[room])
    always = edges(HopVad(SileroEngine(), sure=0.0), frames)
    resting = edges(RestingVad(HopVad(SileroEngine(), 0.7), RoomGate()), frames)
    assert [kind for kind, _ in resting] == [kind for kind, _ in always]
    for (kind, with_rest), (_, without) in zip(resting, always, strict=True):
        assert -EARLIER_FRAMES[kind] <= with_rest - without <= HOP_FRAMES, (kind, with_rest, without)


def test_the_detector_rests_in_silence_and_catches_up_with_speech() -> None:
    inside = Counting()
    vad = RestingVad(inside, RoomGate())
    quiet = [marked(number, loud=False) for number in range(12)]
    assert [vad.score(frame) for frame in quiet * 10] == [0.0] * 120
    assert inside.heard == []
    assert vad.score(marked(0, loud=True)) == 0.9
    assert inside.heard == [*quiet[-CATCH_UP_FRAMES:], marked(0, loud=True)]


def test_a_pause_within_a_word_is_scored_completely_afterwards() -> None:
    inside = Counting()
    vad = RestingVad(inside, RoomGate())
    frames = [marked(0, loud=True), *[marked(number, loud=False) for number in range(4)], marked(1, loud=True)]
    assert [vad.score(frame) for frame in frames] == [0.9, 0.0, 0.0, 0.0, 0.0, 0.9]
    assert inside.heard == frames


def test_sure_speech_is_scored_in_every_third_frame() -> None:
    inside = Counting(says=1.0)
    vad = RestingVad(inside, RoomGate())
    assert [vad.score(marked(number, loud=True)) for number in range(10)] == [1.0] * 10
    assert (len(inside.heard), inside.skipped) == (4, 6)


@pytest.mark.parametrize(
    ("says", "amplitude", "passes"),
    [(1.0, 8191, True), (1.0, 4600, True), (1.0, 3600, False), (SURE - 0.01, 8191, False)],
    ids=["as loud", "5 dB quieter", "7 dB quieter", "doubtful"],
)
def test_a_frame_after_a_sure_score_is_not_scored_unless_the_voice_has_fallen(
    says: float, amplitude: int, passes: bool
) -> None:
    inside = Counting(says=says)
    vad = RestingVad(inside, RoomGate())
    vad.score(marked(0, loud=True))
    vad.score(Frame(amplitude.to_bytes(2, "little") * 480))
    assert inside.skipped == passes


def test_speech_after_a_pause_is_sure_only_after_another_score() -> None:
    inside = Counting(says=1.0)
    vad = RestingVad(inside, RoomGate())
    vad.score(marked(0, loud=True))
    vad.score(marked(1, loud=False))
    vad.score(marked(2, loud=True))
    assert inside.skipped == 0


def test_the_first_hop_after_a_skip_ends_with_the_next_frame() -> None:
    engine = Noting()
    vad = HopVad(engine)
    frames = frames_of(tone(440, 400))
    for frame in frames[:-1]:
        vad.skip(frame)
    vad.score(frames[-1])
    assert engine.hops == [b"".join(frames)[-engine.context_bytes - engine.hop_bytes :]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_noise_as_loud_as_the_voice_before_it_is_recognised_soon(path: Path) -> None:
    voice = samples_of(read_audio(path))
    hiss = noise(2000, dbfs=20 * np.log10(np.sqrt(np.mean(voice**2)) / 32768))
    frames = frames_of(silence(1000) + pcm_of(voice) + hiss)
    always, resting = HopVad(SileroEngine(), sure=0.0), RestingVad(HopVad(SileroEngine(), 0.7), RoomGate())
    assert last_speech(resting, frames) - last_speech(always, frames) <= 200 // FRAME_MS


def last_speech(vad: Vad, frames: list[Frame]) -> int:
    return max(number for number, frame in enumerate(frames) if vad.score(frame) >= 0.7)
