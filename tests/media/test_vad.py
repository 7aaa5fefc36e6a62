"""The detector finds words in real sound, but no silence and no noise."""

import numpy as np
import pytest

from backend.media.frame import SAMPLE_RATE, SILENCE, Frame
from backend.media.segmenter import Segmenter
from backend.media.vad import HopVad, RestingVad, RoomGate
from backend.media.vad_silero import SileroEngine
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechStarted as Onset
from backend.turns.events import SpeechStopped as Ended
from tests.support.speech import frames_of, noise, pcm_of, samples_of, silence, speech


def make_vad() -> RestingVad:
    return RestingVad(HopVad(SileroEngine(), 0.7), RoomGate())


def scores(pcm: bytes) -> list[float]:
    detector = make_vad()
    return [detector.score(frame) for frame in frames_of(pcm)]


def mixed(one: bytes, other: bytes) -> bytes:
    both = samples_of(one) + samples_of(other)[: len(one) // 2]
    return bytes(np.clip(both, -32768, 32767).astype("<i2").tobytes())


def knocks() -> bytes:
    """Return ten thumps at 130 Hz."""
    time = np.arange(SAMPLE_RATE * 7 // 10) / SAMPLE_RATE
    return pcm_of(20_000 * np.exp(-40 * time) * np.sin(2 * np.pi * 130 * time)) * 10


def coughs() -> bytes:
    """Return ten bursts of noise that fade within 100 ms."""
    burst = samples_of(noise(700, dbfs=-12)) * np.exp(-np.arange(SAMPLE_RATE * 7 // 10) / (0.03 * SAMPLE_RATE))
    return pcm_of(burst) * 10


@pytest.mark.parametrize(("voice", "gain", "share"), [("slt", 1.0, 0.8), ("rms", 1.0, 0.8), ("slt", 0.1, 0.6)])
def test_loud_and_quiet_words_are_speech(voice: str, gain: float, share: float) -> None:
    said = pcm_of(samples_of(speech("What is the weather in Seattle tomorrow?", voice)) * gain)
    assert np.mean([score >= 0.7 for score in scores(silence(300) + said)[15:]]) > share


@pytest.mark.parametrize(
    "pcm",
    [silence(3000), noise(3000, dbfs=-50), noise(6000, dbfs=-25), knocks(), coughs()],
    ids=["silence", "a room", "noise", "knocks", "coughs"],
)
def test_sounds_without_a_voice_score_far_below_an_onset(pcm: bytes) -> None:
    assert max(scores(silence(500) + pcm)) < 0.3


def test_words_in_noise_are_found() -> None:
    words = silence(500) + speech("What is the weather in Seattle tomorrow?") + silence(800)
    heard = scores(mixed(words, noise(6000, dbfs=-45)))
    assert max(heard[:20]) < 0.7 and max(heard[-10:]) < 0.7
    assert np.mean([score >= 0.7 for score in heard[35:-45]]) > 0.7


@pytest.mark.parametrize("text", ["What is the weather in Seattle?", "Hello there.", "How about tomorrow?"])
def test_the_pre_roll_contains_the_first_syllable(text: str) -> None:
    words = speech(text)
    numbers, edges = segmented(silence(1000) + words + silence(1000))
    assert (edges[0], edges[-1]) == (Onset, Ended)
    assert numbers[0] * 20 <= 820
    assert numbers[-1] * 20 >= 1000 + len(words) // 48
    assert len(numbers) * 20 < len(words) // 48 + 700


def test_two_sentences_are_two_utterances() -> None:
    pcm = silence(500) + speech("What is the weather?") + silence(1500) + speech("Thank you very much.") + silence(800)
    _, edges = segmented(pcm)
    assert edges.count(Onset) == edges.count(Ended) == 2


def segmented(pcm: bytes) -> tuple[list[int], list[type]]:
    """Return the numbers of the frames that the segmenter forwards by default, and the kinds of its events."""
    defaults = VadSettings.model_validate({})
    detector = make_vad()
    segmenter = Segmenter(defaults.pre_roll_ms, defaults.post_roll_ms, defaults.hangover_frames)
    forwarded: list[Frame] = []
    edges: list[type] = []
    numbered = frames_of(pcm)
    for frame in numbered:
        for thing in segmenter.push(frame, detector.score(frame) >= defaults.threshold):
            if isinstance(thing, bytes):
                forwarded.append(thing)
            else:
                edges.append(type(thing))
    places = {id(frame): number for number, frame in enumerate(numbered)}
    return [places[id(frame)] for frame in forwarded], edges


def test_the_end_of_speech_is_found_soon() -> None:
    words = speech("What is the weather in Seattle?")
    after = scores(silence(400) + words + silence(600))[(400 + len(words) // 48) // 20 :]
    assert max(after[12:]) < 0.7


def test_the_detectors_of_two_calls_are_independent() -> None:
    talking, silent = make_vad(), make_vad()
    for frame in frames_of(speech("What is the weather in Seattle tomorrow?")):
        talking.score(frame)
        assert silent.score(SILENCE) < 0.7
