"""Both detectors on real sound: words are found, silence and noise are not, and the fallback says why."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import platform
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from backend.errors import MissingLibrary
from backend.media import endpointing, vad_silero, vad_ten
from backend.media.endpointing import detector, make_vad
from backend.media.frame import SAMPLE_RATE, SILENCE, Frame
from backend.media.segmenter import Segmenter
from backend.media.vad import EngineName
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechStarted as Onset
from backend.turns.events import SpeechStopped as Ended
from tests.support.speech import frames_of, noise, pcm_of, samples_of, silence, speech


def ten_runs() -> bool:
    try:
        vad_ten.load_ten()
    except MissingLibrary:
        return False
    return True


ENGINES = [
    pytest.param("ten", marks=pytest.mark.skipif(not ten_runs(), reason="TEN VAD does not run here")),
    "silero",
]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def settings(engine: EngineName, **others: int) -> VadSettings:
    return VadSettings.model_validate({"engine": engine, **others})


def scores(engine: EngineName, pcm: bytes) -> list[float]:
    detector = make_vad(settings(engine))
    return [detector.score(frame) for frame in frames_of(pcm)]


def mixed(one: bytes, other: bytes) -> bytes:
    both = samples_of(one) + samples_of(other)[: len(one) // 2]
    return bytes(np.clip(both, -32768, 32767).astype("<i2").tobytes())


def knocks() -> bytes:
    """Ten thumps at 130 Hz."""
    time = np.arange(SAMPLE_RATE * 7 // 10) / SAMPLE_RATE
    return pcm_of(20_000 * np.exp(-40 * time) * np.sin(2 * np.pi * 130 * time)) * 10


def coughs() -> bytes:
    """Ten bursts of noise that fade within 100 ms."""
    burst = samples_of(noise(700, dbfs=-12)) * np.exp(-np.arange(SAMPLE_RATE * 7 // 10) / (0.03 * SAMPLE_RATE))
    return pcm_of(burst) * 10


@every_engine
@pytest.mark.parametrize("voice", ["slt", "rms"], ids=["a woman", "a man"])
def test_words_are_speech(engine: EngineName, voice: str) -> None:
    voiced = scores(engine, silence(300) + speech("What is the weather in Seattle tomorrow?", voice))[15:]
    assert np.mean([score >= 0.7 for score in voiced]) > 0.8


@every_engine
def test_quiet_speech_is_speech(engine: EngineName) -> None:
    quiet = (samples_of(speech("What is the weather in Seattle tomorrow?")) / 10).astype("<i2").tobytes()
    assert np.mean([score >= 0.7 for score in scores(engine, silence(300) + quiet)[15:]]) > 0.6


@every_engine
@pytest.mark.parametrize("pcm", [silence(3000), noise(3000, dbfs=-50), noise(3000, dbfs=-30)])
def test_silence_and_noise_are_not_speech(engine: EngineName, pcm: bytes) -> None:
    assert max(scores(engine, pcm)) < 0.7


@pytest.mark.parametrize("pcm", [noise(6000, dbfs=-25), knocks(), coughs()], ids=["noise", "knocks", "coughs"])
def test_what_is_no_voice_stays_far_below_the_score_an_onset_needs(pcm: bytes) -> None:
    assert max(scores("silero", silence(500) + pcm)) < 0.3


@every_engine
def test_words_in_noise_are_found(engine: EngineName) -> None:
    words = silence(500) + speech("What is the weather in Seattle tomorrow?") + silence(800)
    heard = scores(engine, mixed(words, noise(6000, dbfs=-45)))
    assert max(heard[:20]) < 0.7 and max(heard[-10:]) < 0.7
    assert np.mean([score >= 0.7 for score in heard[35:-45]]) > 0.7


@every_engine
@pytest.mark.parametrize("text", ["What is the weather in Seattle?", "Hello there.", "How about tomorrow?"])
def test_the_pre_roll_keeps_the_first_syllable(engine: EngineName, text: str) -> None:
    words = speech(text)
    numbers, edges = segmented(engine, silence(1000) + words + silence(1000))
    assert (edges[0], edges[-1]) == (Onset, Ended)
    assert numbers[0] * 20 <= 820
    assert numbers[-1] * 20 >= 1000 + len(words) // 48
    assert len(numbers) * 20 < len(words) // 48 + 700


@every_engine
def test_two_sentences_are_two_utterances(engine: EngineName) -> None:
    pcm = silence(500) + speech("What is the weather?") + silence(1500) + speech("Thank you very much.") + silence(800)
    _, edges = segmented(engine, pcm)
    assert edges.count(Onset) == edges.count(Ended) == 2


def segmented(engine: EngineName, pcm: bytes) -> tuple[list[int], list[type]]:
    """Numbers of the frames the segmenter forwards with the default settings, and the kinds of its edges."""
    defaults = VadSettings.model_validate({})
    detector = make_vad(settings(engine))
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


@every_engine
def test_the_end_is_noticed_soon(engine: EngineName) -> None:
    words = speech("What is the weather in Seattle?")
    after = scores(engine, silence(400) + words + silence(600))[(400 + len(words) // 48) // 20 :]
    assert max(after[12:]) < 0.7


@every_engine
def test_two_calls_do_not_hear_each_other(engine: EngineName) -> None:
    talking, silent = make_vad(settings(engine)), make_vad(settings(engine))
    for frame in frames_of(speech("What is the weather in Seattle tomorrow?")):
        talking.score(frame)
        assert silent.score(SILENCE) < 0.7


@pytest.mark.skipif(not ten_runs(), reason="TEN VAD does not run here")
@pytest.mark.parametrize("hop_ms", [10, 16, 32])
def test_ten_hears_hops_of_each_length(hop_ms: int) -> None:
    detector = make_vad(settings("ten", vad_frame_ms=hop_ms))
    voiced = [detector.score(frame) for frame in frames_of(silence(300) + speech("What is the weather?"))][20:]
    assert np.mean([score >= 0.7 for score in voiced]) > 0.7
    assert all(0 <= score <= 1 for score in voiced)


# --- which engine --------------------------------------------------------------------------------------


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Choose and load again, before and after."""

    def forget() -> None:
        endpointing.choose_engine.cache_clear()
        vad_ten.load_ten.cache_clear()
        vad_silero.load_silero.cache_clear()

    forget()
    yield
    forget()


def no_model() -> Path:
    raise MissingLibrary("Silero VAD's model file is not installed.")


def refuse(_path: str) -> ctypes.PyDLL:
    raise OSError("libc++.so.1: cannot open shared object file")


@pytest.mark.skipif(not ten_runs(), reason="TEN VAD does not run here")
def test_ten_serves_by_name(forgetful: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert make_vad(settings("ten")).name == "ten"
    assert "VAD: ten, as set" in caplog.text


def test_auto_takes_silero_and_says_so(forgetful: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert make_vad(VadSettings.model_validate({})).name == "silero"
    make_vad(VadSettings.model_validate({}))
    assert [record.message for record in caplog.records if "VAD" in record.message] == ["VAD: silero, the default"]


@pytest.mark.skipif(not ten_runs(), reason="TEN VAD does not run here")
def test_auto_falls_back_to_ten_and_says_why(
    forgetful: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vad_silero, "_model_path", no_model)
    assert make_vad(VadSettings.model_validate({})).name == "ten"
    assert "not installed" in caplog.text and "ten" in caplog.text


def test_ten_says_where_it_has_no_build(forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(MissingLibrary, match="aarch64"):
        make_vad(settings("ten"))


def test_an_engine_asked_for_by_name_is_not_replaced(forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    with pytest.raises(MissingLibrary) as caught:
        make_vad(settings("ten"))
    assert "silero" in caught.value.hint


def test_a_missing_model_file_is_named(forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingLibrary, match="model"):
        make_vad(settings("silero"))


def test_where_no_engine_runs_the_providers_detection_serves_and_the_log_says_so(
    forgetful: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vad_silero, "_model_path", no_model)
    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    assert detector(VadSettings.model_validate({}), provider_can=True) is None
    assert "semantic_vad, because no detector can run here" in caplog.text
    with pytest.raises(MissingLibrary):
        detector(VadSettings.model_validate({}), provider_can=False)
    with pytest.raises(MissingLibrary):
        detector(settings("silero"), provider_can=True)
    assert detector(VadSettings.model_validate({"enabled": False}), provider_can=False) is None
