"""What `benchmarks.endpointing` says of a detector is what was put into it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backend.media.endpointing import assembled
from backend.media.frame import FRAME_MS, Frame
from backend.media.vad import Engine, Vad
from benchmarks.endpointing import Room, Scene, judged, noises, onsets, pink, scene
from tests.support.detector import Saying
from tests.support.speech import samples_of, speech

FIRST_MS, LAST_MS = 207.0, 403.0


def scripted(scores: list[float]) -> Callable[[Engine, float], Vad]:
    return lambda _engine, _sure: Saying(*scores)


def empty(frames: int) -> Scene:
    return Scene([(number, Frame(bytes(960))) for number in range(frames)], FIRST_MS, LAST_MS)


def test_onset_and_end_are_told_from_the_sound_to_the_end_of_the_frame() -> None:
    heard = judged(empty(40), scripted([0.0] * 12 + [1.0] * 9 + [0.0] * 19))
    assert (heard.onset_ms, heard.end_ms) == (13 * FRAME_MS - FIRST_MS, 22 * FRAME_MS - LAST_MS)
    assert (heard.utterances, heard.dips, heard.false_starts) == (1, 0, 0)


def test_a_pause_is_a_dip_and_a_long_one_a_cut() -> None:
    heard = judged(empty(60), scripted([0.0] * 12 + [1.0, 0.0, 1.0] + [0.0] * 16 + [1.0] + [0.0] * 28))
    assert (heard.utterances, heard.dips) == (2, 1)


def test_a_voice_before_the_sound_is_a_false_start_and_none_at_all_a_miss() -> None:
    heard = judged(empty(40), scripted([0.0, 1.0, *[0.0] * 38]))
    assert (heard.onset_ms, heard.utterances, heard.false_starts) == (None, 0, 1)


@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("room", [Room("quiet", known_ms=500), Room("noisy", noise_dbfs=-50, known_ms=500)])
def test_a_sentence_in_a_room_is_heard_whole(room: Room, pauses: bool) -> None:
    said = scene(samples_of(speech("Hello there.")), room, np.random.default_rng(1), pauses=pauses)
    heard = judged(said, assembled)
    assert heard.utterances == 1
    assert heard.onset_ms is not None and heard.end_ms is not None
    assert 0 < heard.onset_ms < 200 and heard.end_ms < 100
    assert 10 < heard.hops < 80


def test_noise_is_as_loud_as_was_asked_for() -> None:
    noise = pink(24_000, -30, np.random.default_rng(1)) / 32768
    assert 10 * np.log10(np.mean(noise**2)) == pytest.approx(-30, abs=0.01)


def test_knocks_start_nothing() -> None:
    assert onsets(noises()["knocks"][:72_000], pauses=False) == 0
