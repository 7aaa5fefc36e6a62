"""Echo is found and cancelled, and nothing else: in a simulated room, through Opus, with the real detector."""

from collections.abc import Iterator

import numpy as np
import pytest

from backend.extensions.echo.guard import CancellingEchoGuard, Samples
from backend.media.endpointing import open_endpointing
from backend.media.frame import FRAME_MS, FRAME_SAMPLES, SAMPLE_RATE, SILENCE, Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechEvent, SpeechStopped
from responder_thinker.caller import cut_frames as cut
from tests.support.speech import noise, pcm_of, samples_of, silence, speech

pytestmark = pytest.mark.realtime

REPLY = "I have looked at your booking, and the flight leaves on Tuesday at nine in the morning from terminal two."
ANSWER = "Sorry, could you tell me the price again before you go on with that?"


def cut_frames(pcm: bytes) -> list[Frame]:
    return list(cut(pcm))


def room(played: bytes, *, delay_ms: int, loss_db: float, near: bytes = b"", near_at_ms: int = 0) -> list[Frame]:
    """Return the microphone's sound of `played` and of the caller's `near` voice, in noise, through Opus twice."""
    heard = samples_of(b"".join(through_opus(cut_frames(played))))
    mixed = samples_of(noise(len(played) // 48 + 1000, dbfs=-70)).astype(float)
    generator = np.random.default_rng(4)
    tail = generator.standard_normal(4000) * np.exp(-np.arange(4000) / 900) * 0.04
    tail[0] = 1.0
    echo = np.convolve(heard, tail) * 10 ** (-loss_db / 20) / np.sqrt((tail**2).sum())
    begins = delay_ms * 24
    echo = echo[: len(mixed) - begins]
    mixed[begins : begins + len(echo)] += echo
    voice = samples_of(near)
    mixed[near_at_ms * 24 : near_at_ms * 24 + len(voice)] += voice
    return through_opus(cut_frames(pcm_of(mixed)))


def through_opus(frames: list[Frame]) -> list[Frame]:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    return [Frame(decoder.decode(encoder.encode(frame))) for frame in frames]


def call(guard: CancellingEchoGuard, played: bytes, microphone: list[Frame], *, burst: int = 1) -> list[Frame]:
    """Play and receive a frame every 20 ms; with `burst`, frames are received in groups of that size."""
    playing: Iterator[Frame | None] = iter(cut_frames(played))
    cleaned: list[Frame] = []
    for at in range(0, len(microphone), burst):
        for _ in microphone[at : at + burst]:
            guard.played(next(playing, None))
        cleaned += [guard.clean(frame) for frame in microphone[at : at + burst]]
    return cleaned


def detected(frames: list[Frame]) -> list[SpeechEvent]:
    """Return the scores of the real detector for `frames`, and for a second of silence after them."""
    endpointing = open_endpointing(VadSettings.model_validate({}))
    events = [event for frame in frames + [SILENCE] * 50 for event in endpointing.process(frame)]
    return [event for event in events if not isinstance(event, bytes)]


def longest_voiced_ms(frames: list[Frame]) -> int:
    return max((event.voiced_ms for event in detected(frames) if isinstance(event, SpeechStopped)), default=0)


def dbfs(frames: list[Frame]) -> float:
    power = float(np.mean(samples_of(b"".join(frames)).astype(float) ** 2))
    return float(10 * np.log10(power / 32768**2 + 1e-12))


@pytest.mark.parametrize(("delay_ms", "loss_db"), [(120, 6), (300, 12), (500, 20), (900, 12)])
def test_an_echo_is_found_and_interrupts_nothing(delay_ms: int, loss_db: float) -> None:
    played = speech(REPLY) + silence(600) + speech(REPLY)
    microphone = room(played, delay_ms=delay_ms, loss_db=loss_db)
    assert longest_voiced_ms(microphone) > 1000
    guard = CancellingEchoGuard()
    cleaned = call(guard, played, microphone)
    assert guard.delay_ms is not None
    assert longest_voiced_ms(cleaned) < 280
    second = len(speech(REPLY)) // 960 + (delay_ms + 600) // FRAME_MS + 10
    assert dbfs(cleaned[second : second + 150]) < dbfs(microphone[second : second + 150]) - 15


def test_the_delay_is_known_to_a_frame() -> None:
    played = speech(REPLY)
    guard = CancellingEchoGuard()
    call(guard, played, room(played, delay_ms=300, loss_db=10))
    assert guard.delay_ms == pytest.approx(310, abs=30)  # the codecs look ahead


@pytest.mark.parametrize("said", [ANSWER, REPLY])
def test_a_caller_without_echo_is_unchanged_even_repeating_our_words(said: str) -> None:
    played = speech(REPLY) + speech(REPLY)
    microphone = room(played, delay_ms=200, loss_db=200, near=speech(said, "rms"), near_at_ms=400)
    guard = CancellingEchoGuard()
    cleaned = call(guard, played, microphone)
    assert guard.delay_ms is None
    assert all(after is before for after, before in zip(cleaned, microphone, strict=True))


def sine(seconds: float, hertz: float, rise: float = 0.0) -> bytes:
    """A tone of that pitch, which rises by so many hertz a second."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return pcm_of(9000 * np.sin(2 * np.pi * (hertz * time_s + rise * time_s**2 / 2)))


@pytest.mark.parametrize(
    "played", [sine(5, 220), sine(5, 1000), sine(0.6, 660), sine(8, 300, 340)], ids=["low", "high", "short", "rising"]
)
@pytest.mark.parametrize("near_at_ms", [700, 1000, 1300])
def test_a_voice_over_or_after_a_tone_is_no_echo_of_it(played: bytes, near_at_ms: int) -> None:
    for said, voice in ((ANSWER, "rms"), ("Will you read me a long long poem now?", "slt")):
        guard = CancellingEchoGuard()
        microphone = [SILENCE] * (near_at_ms // FRAME_MS) + through_opus(cut_frames(speech(said, voice)))
        cleaned = call(guard, played, microphone)
        assert guard.delay_ms is None
        assert all(after is before for after, before in zip(cleaned, microphone, strict=True))


def test_a_caller_who_talks_over_the_echo_is_heard() -> None:
    played = speech(REPLY) + speech(REPLY)
    voice = speech(ANSWER, "rms")
    microphone = room(played, delay_ms=250, loss_db=12, near=voice, near_at_ms=2500)
    guard = CancellingEchoGuard()
    cleaned = call(guard, played, microphone)
    alone = through_opus(cut_frames(silence(2500) + voice))
    during = slice(2600 // FRAME_MS, (2500 + len(voice) // 48) // FRAME_MS)
    assert guard.delay_ms is not None
    assert dbfs(cleaned[during]) == pytest.approx(dbfs(alone[during]), abs=3)
    assert longest_voiced_ms(cleaned) > 560


def test_frames_received_in_bursts_change_nothing() -> None:
    played = speech(REPLY) + speech(REPLY)
    cleaned = call(CancellingEchoGuard(), played, room(played, delay_ms=250, loss_db=10), burst=4)
    assert longest_voiced_ms(cleaned) < 280


@pytest.mark.parametrize("later_ms", [60, 700])
def test_an_echo_with_a_new_delay_is_found_again(later_ms: int) -> None:
    played = speech(REPLY) + silence(1000) + speech(REPLY)
    before, after = (room(played, delay_ms=delay, loss_db=10) for delay in (300, later_ms))
    pause = len(speech(REPLY)) // 960 + 40
    cleaned = call(CancellingEchoGuard(), played, before[:pause] + after[pause:])
    assert longest_voiced_ms(cleaned) < 560


def test_an_echo_that_begins_during_the_call_is_found() -> None:
    played = speech(REPLY) + silence(1000) + speech(REPLY)
    quiet, loud = (room(played, delay_ms=200, loss_db=loss) for loss in (200, 10))
    pause = len(speech(REPLY)) // 960 + 40
    guard = CancellingEchoGuard()
    cleaned = call(guard, played, quiet[:pause] + loud[pause:])
    assert guard.delay_ms is not None and longest_voiced_ms(cleaned) < 560


class Useless:
    """A canceller that cancels nothing, as a real one before it has learnt the room."""

    def process(self, near: Samples, far: Samples) -> Samples:
        return near


def test_the_residue_of_an_echo_is_dropped() -> None:
    played = speech(REPLY)
    microphone = room(played, delay_ms=250, loss_db=10)
    assert longest_voiced_ms(call(CancellingEchoGuard(Useless), played, microphone)) < 560
    assert longest_voiced_ms(microphone) > 1000


def test_silence_stays_the_silence_that_detectors_may_skip() -> None:
    played = speech(REPLY)
    guard = CancellingEchoGuard()
    call(guard, played, room(played, delay_ms=200, loss_db=10))
    guard.played(Frame(played[: 2 * FRAME_SAMPLES]))
    assert guard.delay_ms is not None and guard.clean(SILENCE) is SILENCE


def test_played_sound_is_released_once_its_echo_is_over() -> None:
    guard = CancellingEchoGuard()
    call(guard, speech(REPLY), room(speech(REPLY), delay_ms=200, loss_db=10) + [SILENCE] * 100)
    assert not guard._far and not guard._near
