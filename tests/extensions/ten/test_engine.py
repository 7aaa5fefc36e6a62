"""TEN VAD finds words, and Silero replaces it where it cannot run."""

from collections.abc import Iterator

import pytest

from backend.app.doctor import CHECKS
from backend.extensions.ten import engine as native
from backend.extensions.ten.extension import engine
from backend.media.endpointing import open_endpointing
from backend.settings.settings import load_settings
from backend.turns.events import SpeechStarted, SpeechStopped
from tests.support.speech import frames_of, noise, silence, speech

WANTED = load_settings(_env_file=None, ten={"enabled": True})


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package without its library."""
    monkeypatch.setattr(native, "LIBRARY", "nowhere.so")
    native.load_ten.cache_clear()
    yield
    native.load_ten.cache_clear()


@pytest.mark.document("001", "local VAD")
def test_words_are_found_and_noise_is_not() -> None:
    chosen = engine(WANTED)
    if chosen is None:
        pytest.skip("TEN VAD does not run here")
    local = open_endpointing(WANTED.vad, chosen)
    pcm = noise(1000, dbfs=-30) + silence(500) + speech("What is the weather in Seattle tomorrow?") + silence(800)
    found = [type(thing) for frame in frames_of(pcm) for thing in local.process(frame)]
    assert [each for each in found if each in (SpeechStarted, SpeechStopped)] == [SpeechStarted, SpeechStopped]
    assert local.name == "ten"


@pytest.mark.document("001", "local VAD")
@pytest.mark.usefixtures("no_library")
def test_silero_replaces_it_where_it_cannot_run_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    assert engine(WANTED) is None and "speech is detected by Silero" in caplog.text
    assert engine(load_settings(_env_file=None)) is None and len(caplog.records) == 1


async def test_the_doctor_names_the_detector_that_would_run() -> None:
    finding = await CHECKS["Detector"](WANTED)
    assert finding.message == ("silero runs" if engine(WANTED) is None else "ten runs")
