"""The room gate passes sounds louder than the room, and follows the level of the room."""

import numpy as np
import pytest

from backend.media.frame import SAMPLE_RATE, SILENCE, Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.media.vad import JUDGED_MS, LOUDEST_ROOM_DBFS, RoomGate, level
from tests.support.speech import frames_of, noise, pcm_of, silence, tone


def settled(dbfs: float, frames: int = 1000) -> RoomGate:
    gate = RoomGate()
    for _ in range(frames):
        gate.opens(dbfs)
    return gate


def test_the_level_of_a_frame_is_that_of_its_end() -> None:
    early, late = silence(20 - JUDGED_MS), tone(1000, JUDGED_MS, dbfs=-20)
    assert level(Frame(early + late)) == pytest.approx(-23, abs=0.1)
    assert level(Frame(tone(1000, 20 - JUDGED_MS) + silence(JUDGED_MS))) == level(SILENCE) == -100


def test_the_first_frame_after_a_voice_is_quiet_despite_the_delay_of_the_codec() -> None:
    encoder, decoder, gate = OpusEncoder(), OpusDecoder(), RoomGate()
    sent = frames_of(tone(200, 400, dbfs=-30) + silence(100))
    opened = [gate.opens(level(Frame(decoder.decode(encoder.encode(frame))))) for frame in sent]
    assert opened[1:] == [True] * 19 + [False] * 5


@pytest.mark.parametrize("hertz", [70, 80, 100, 250])
def test_the_gate_stays_open_between_the_pulses_of_a_low_voice(hertz: int) -> None:
    gate = settled(-50)
    assert all(gate.opens(level(frame)) for frame in frames_of(vowel(hertz, 2000, dbfs=-25)))


def vowel(hertz: int, ms: int, *, dbfs: float) -> bytes:
    """Return glottal pulses with formants at 600 Hz, 80 Hz wide, and at 1,100 Hz, 90 Hz wide."""
    time = np.arange(ms * SAMPLE_RATE // 1000) / SAMPLE_RATE
    pulses = np.diff(np.floor(time * hertz), prepend=-1)
    formants = [np.exp(-np.pi * wide * time) * np.sin(2 * np.pi * at * time) for at, wide in ((600, 80), (1100, 90))]
    ringing = np.sum(formants, axis=0)
    voice = np.convolve(pulses, ringing[: SAMPLE_RATE // 10])[: len(time)]
    return pcm_of(voice * 32768 * 10 ** (dbfs / 20) / np.sqrt(np.mean(voice**2)))


@pytest.mark.parametrize(
    ("room", "levels"),
    [
        (-62, [(-100, False), (-90, False), (-63, False)]),  # digital silence, and a codec's rest
        (-100, [(-55, True)]),
        (-45, [(-45, False), (-40, False), (-35, True), (-90, False), (-55, True)]),  # the level falls immediately
    ],
)
def test_a_sound_clearly_louder_than_the_room_passes(room: float, levels: list[tuple[float, bool]]) -> None:
    gate = settled(room)
    assert [(dbfs, gate.opens(dbfs)) for dbfs, _ in levels] == levels


def test_a_voice_with_short_pauses_does_not_become_the_room() -> None:
    gate = RoomGate()
    talk = [-20.0] * 24 + [-70.0]
    assert all(gate.opens(dbfs) for dbfs in (talk * 60)[:-1] if dbfs > -70)


def test_a_voice_above_a_loud_fan_passes() -> None:
    room = settled(-20, 10_000)
    assert room.room_dbfs <= LOUDEST_ROOM_DBFS
    assert room.opens(-20)


def test_steady_noise_becomes_the_room_within_seconds() -> None:
    gate = RoomGate()
    opened = [gate.opens(level(frame)) for frame in frames_of(noise(8000, dbfs=-48))]
    assert not any(opened[-100:])


def test_the_room_becomes_louder_as_fast_during_pauses_of_transmission() -> None:
    """A browser with discontinuous transmission sends two packets in 420 ms."""
    room, paused = settled(-70), settled(-70)
    for _ in range(40):
        for _ in range(21):
            room.opens(-45)
        for _ in range(19):
            paused.pause()
        paused.opens(-45)
        paused.opens(-45)
    assert room.room_dbfs == paused.room_dbfs == -45


def test_a_long_absence_does_not_make_the_room_louder() -> None:
    gate = settled(-70)
    for _ in range(10_000):
        gate.pause()
    assert gate.opens(-55)
    assert gate.room_dbfs < -68
