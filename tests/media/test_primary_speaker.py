"""The primary speaker is distinguished from other voices by level; the voices are noise."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest

from backend.media.endpointing import open_endpointing
from backend.media.frame import FRAME_SAMPLES, SILENCE, Frame
from backend.media.primary_speaker import PrimarySpeaker
from backend.media.segmenter import Segmenter
from backend.settings.vad import VadSettings
from backend.turns import events as ev

Sound = tuple[float, bool]
"""The level of a frame in dBFS, and whether the detector takes it for speech."""

HANGOVER = 15


class Listener:
    """The primary speaker and segmenter of a caller, and the utterances that they find."""

    def __init__(self, near: PrimarySpeaker) -> None:
        self.near = near
        self._segmenter = Segmenter(100, 300, HANGOVER, 500)
        self._chance = np.random.default_rng(1)
        self._begun = False
        self.frames = 0
        self.utterances: list[tuple[float, float]] = []
        """The begin and end of each, in seconds."""
        self._began = 0.0
        self.sent = 0

    def play(self, *sounds: Iterator[Sound]) -> None:
        for dbfs, is_voice in chain(*sounds):
            self.frames += 1
            frame = self._frame(dbfs)
            accepted = self.near.accepts(frame, is_voice, self._begun)
            for piece in self._segmenter.push(frame, accepted, is_voice):
                self._note(piece)

    @property
    def now(self) -> float:
        return self.frames / 50

    def _note(self, piece: Frame | ev.SpeechEvent) -> None:
        match piece:
            case bytes():
                self.sent += 1
            case ev.SpeechStarted():
                self._began, self._begun = self.now, True
            case ev.SpeechStopped():
                self._begun = False
                self.utterances.append((self._began, self.now))

    def _frame(self, dbfs: float) -> Frame:
        if dbfs <= -90:
            return SILENCE
        noise = self._chance.standard_normal(FRAME_SAMPLES) * 32768 * 10 ** (dbfs / 20)
        return Frame(np.clip(np.rint(noise), -32768, 32767).astype("<i2").tobytes())


@pytest.fixture
def one() -> Listener:
    return Listener(PrimarySpeaker())


def quiet(seconds: float, dbfs: float = -65) -> Iterator[Sound]:
    for _ in range(round(seconds * 50)):
        yield dbfs, False


def babble(seconds: float, dbfs: float, swing_db: float = 2.0) -> Iterator[Sound]:
    """Yield many voices: speech without a pause at a slightly varying level."""
    for at in range(round(seconds * 50)):
        yield dbfs + swing_db * np.sin(at / 4), True


def talk(seconds: float, dbfs: float, room: float | None = None) -> Iterator[Sound]:
    """Yield one voice: syllables of 200 ms with 60 ms of fading between; over a `room` of further speech."""
    for at in range(round(seconds * 50)):
        level = dbfs + 2 - (at % 10) / 2 if at % 10 < 7 else dbfs - 25
        yield level if room is None else 10 * np.log10(10 ** (level / 10) + 10 ** (room / 10)), True


def sentences(seconds: float, dbfs: float, gap_s: float = 0.5) -> Iterator[Sound]:
    """Yield one voice that continues, with a pause after each 2.5 s."""
    for _ in range(round(seconds / (2.5 + gap_s))):
        yield from talk(2.5, dbfs)
        yield from quiet(gap_s)


def test_a_voice_in_a_quiet_room_begins_and_ends_as_without_the_primary_speaker(one: Listener) -> None:
    one.play(quiet(2), talk(2, -22), quiet(2))
    assert one.utterances == [(2.02, 4.3)]


def test_soft_beginnings_and_ends_of_a_single_caller_are_sent(one: Listener) -> None:
    """Some voices have a great range: every word begins and ends 13 dB below its loudest syllable."""
    one.play(quiet(2))
    for _ in range(12):
        before = one.sent
        word = [(dbfs, True) for dbfs in (-43, -41, -38, -30, -30, -36, -42, -43) for _ in range(6)]
        one.play(iter(word), quiet(0.2), iter(word), quiet(1.0))
        assert one.sent - before >= 2 * len(word), "a part of the word was taken for another voice"
    assert len(one.utterances) == 12


def test_babble_from_the_beginning_is_the_room_and_sets_no_level(one: Listener) -> None:
    one.play(babble(20, -30))
    assert one.utterances == []
    assert one.near.caller_dbfs is None


@pytest.mark.parametrize("below", [20, 10, 5])
def test_a_question_in_babble_begins_and_ends_with_the_caller(below: int, one: Listener) -> None:
    one.play(babble(4, -22 - below))
    for _ in range(3):
        asked = one.now
        one.play(talk(2, -22, room=-22 - below), babble(4, -22 - below))
        began, ended = one.utterances[-1]
        assert asked <= began <= asked + 0.1
        assert asked + 2 <= ended <= asked + 2 + 0.3 + 0.3
    assert len(one.utterances) == 3


def test_a_room_that_becomes_louder_does_not_keep_a_question_from_ending(one: Listener) -> None:
    """Other voices were at -42 dBFS; more voices arrive, at most 8 dB below the caller."""
    one.play(babble(4, -42), talk(2, -22, room=-42), babble(4, -42), quiet(1), babble(4, -31))
    asked = one.now
    one.play(talk(2, -22, room=-31), babble(6, -31))
    assert [began for began, ended in one.utterances if ended > asked] == pytest.approx([asked], abs=0.1)
    assert one.utterances[-1][1] <= asked + 2 + 0.6


def test_a_voice_8_db_below_the_caller_is_another_one(one: Listener) -> None:
    one.play(quiet(2), talk(3, -22), quiet(1))
    one.play(talk(3, -37), quiet(1), talk(3, -33), quiet(1))
    assert len(one.utterances) == 1


def test_a_caller_is_heard_after_their_gain_control_came_down(one: Listener) -> None:
    one.play(quiet(2), talk(2, -7), quiet(2), talk(2, -25), quiet(1))
    assert len(one.utterances) == 2


def test_another_voice_without_pauses_gets_at_most_three_turns_a_minute(one: Listener) -> None:
    one.play(quiet(2), talk(3, -22), quiet(1), sentences(60, -37))
    assert 1 <= len(one.utterances) - 1 <= 3


def test_the_caller_is_recognised_again_after_a_trial_of_another_voice(one: Listener) -> None:
    one.play(quiet(2), talk(3, -22), quiet(1), sentences(24, -37))
    trials = len(one.utterances)
    one.play(talk(3, -22), quiet(1), talk(2, -37), quiet(1))
    assert len(one.utterances) == trials + 1


def test_a_quieter_caller_with_pauses_is_heard_at_the_second_sentence(one: Listener) -> None:
    one.play(quiet(2), talk(3, -20), quiet(3), talk(1.5, -40), quiet(3))
    assert len(one.utterances) == 1
    for sentence in range(4):
        one.play(talk(1.5, -40), quiet(3))
        assert len(one.utterances) == 2 + sentence
    assert one.near.caller_dbfs == pytest.approx(-40, abs=2)


def test_a_quieter_caller_without_pauses_is_heard_after_15_s_of_voice(one: Listener) -> None:
    one.play(quiet(2), talk(3, -20), quiet(1), sentences(15, -40))
    assert len(one.utterances) == 1
    one.play(sentences(9, -40), quiet(3), talk(2, -40), quiet(1))
    assert len(one.utterances) == 3


def test_a_cough_does_not_change_the_level_of_the_caller(one: Listener) -> None:
    one.play(quiet(2), talk(3, -24), quiet(1), babble(0.3, -8), quiet(1), talk(2, -24), quiet(1))
    assert len(one.utterances) == 3


def test_a_minute_of_reading_is_one_utterance(one: Listener) -> None:
    one.play(quiet(2))
    for _ in range(20):
        one.play(talk(2.8, -22), quiet(0.2))
    one.play(quiet(1))
    assert [round(ended - began) for began, ended in one.utterances] == [60]


def test_a_steady_voice_ends_after_the_longest_time_and_becomes_the_room(one: Listener) -> None:
    one.play(quiet(1))
    one.play(chain.from_iterable([(-30.0, True)] * 22 + [(-48.0, True)] * 3 for _ in range(40)))
    assert [round(ended - began) for began, ended in one.utterances] == [15]
    one.play(talk(2, -20), quiet(1))
    assert len(one.utterances) == 2


def test_an_accepted_voice_is_sent_from_the_held_frames_on() -> None:
    segmenter = Segmenter(40, 0, 3, held_ms=60)
    frames = [Frame(bytes([number]) * 960) for number in range(12)]
    for frame in frames[:4]:
        segmenter.push(frame, is_speech=False)
    for frame in frames[4:6]:
        segmenter.push(frame, is_speech=False, is_held=True)
    assert segmenter.push(frames[6], is_speech=True) == [ev.SpeechStarted(), *frames[2:7]]


def test_a_pause_before_a_voice_is_not_held() -> None:
    segmenter = Segmenter(40, 0, 3, held_ms=60)
    frames = [Frame(bytes([number]) * 960) for number in range(6)]
    segmenter.push(frames[0], is_speech=False, is_held=True)
    for frame in frames[1:5]:
        segmenter.push(frame, is_speech=False)
    assert segmenter.push(frames[5], is_speech=True) == [ev.SpeechStarted(), *frames[3:6]]


def test_a_setting_turns_the_primary_speaker_off() -> None:
    on = open_endpointing(VadSettings.model_validate({}))
    off = open_endpointing(VadSettings.model_validate({"primary_speaker": False}))
    assert on._near is not None and off._near is None
