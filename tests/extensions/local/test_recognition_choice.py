"""The choice of a recognition engine, and its share of the machine."""

import shutil

import pytest

from backend.errors import MissingLibrary
from backend.extensions.local.recognition import choose, moonshine_files
from backend.extensions.local.recognition.moonshine import is_repetitive, without_echo
from backend.extensions.local.speech_pool import PoolLimits
from tests.extensions.local.flite import spoken_by
from tests.extensions.local.hearing import recognized


@pytest.mark.skipif(shutil.which("flite") is None, reason="flite speaks to the recognizer")
async def test_without_moonshine_the_other_engine_takes_over_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise MissingLibrary("The package moonshine-cpp is not installed.")

    monkeypatch.setattr(moonshine_files, "find", missing)
    recognizer, pool = choose.open_recognizer()
    assert recognizer.name == "pocketsphinx (basic)"
    assert "pocketsphinx" in caplog.text
    try:
        said = await recognized(recognizer, spoken_by("slt", "What is the weather like tomorrow morning?"))
        assert {"weather", "tomorrow"} <= set(said.split())
    finally:
        await pool.close()


def test_without_either_engine_the_operator_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "find_spec", lambda _name: None)
    with pytest.raises(MissingLibrary, match="no speech recognition"):
        choose.open_recognizer()


def test_processes_and_calls_follow_from_the_cores() -> None:
    assert choose.limits(1) == PoolLimits(workers=1, threads=1)
    assert choose.limits(2).workers == 1
    assert choose.limits(16).workers == choose.limits(64).workers == 4
    assert choose.usual_calls(1) == 1
    assert choose.usual_calls(2) == 2


def test_a_phrase_again_and_again_is_no_speech() -> None:
    assert is_repetitive([7, 8, 9] * 7)
    assert is_repetitive([5] * 10)
    assert not is_repetitive([1, 2, 3, 4, 5] * 2 + [6])


def test_a_sentence_that_the_decoder_repeats_is_heard_once() -> None:
    assert without_echo((1, 2, 3, 4, 5, 1, 2, 3), seconds=1.0) == (1, 2, 3, 4, 5)
    assert without_echo((1, 2, 3, 4, 5, 1, 2, 3), seconds=4.0) == (1, 2, 3, 4, 5, 1, 2, 3)
    assert without_echo((1, 2, 3, 4, 5, 6, 7), seconds=1.0) == (1, 2, 3, 4, 5, 6, 7)
