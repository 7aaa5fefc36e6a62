"""Measurements of the voice's sound."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest

from backend.extensions.local.synthesis.edges import Samples
from backend.extensions.local.synthesis.hibari import LONGEST_TEXT, HibariVoice
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.voice import speak

SENTENCES = (
    "Okay.",
    "Yes!",
    "Are you sure?",
    "It is 7:30 and 21 °C.",
    "Sure, let me check that for you.",
    "The weather in Seattle is fine today, with a high of 70 degrees and a light breeze from the west.",
    "I found three trains to Boston tomorrow morning; the first one leaves at 6:15, arrives at 10:20, and costs "
    "$49.99, while the second, which is a little slower, leaves at seven and costs only thirty dollars.",
    "Qworpel Zmjk said hello.",
)


@cache
def voice() -> HibariVoice:
    loaded = HibariVoice()
    loaded.warm_up()
    return loaded


@cache
def spoken(sentence: str) -> tuple[Piece, ...]:
    return tuple(voice().pieces(sentence))


def heard(piece: Piece) -> Samples:
    return np.frombuffer(piece.pcm, np.int16).astype(np.float32) / np.float32(32767)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_as_loud_as_any_other_and_does_not_clip(sentence: str) -> None:
    whole = np.concatenate([heard(piece) for piece in spoken(sentence)])
    assert 10 * np.log10(np.square(whole).mean()) == pytest.approx(-23, abs=2)
    assert np.abs(whole).max() < 0.9


@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_piece_begins_or_ends_in_a_click(sentence: str) -> None:
    for piece in spoken(sentence):
        samples = heard(piece)
        assert samples[0] == 0 == samples[-1]
        assert np.abs(np.diff(samples[:120])).max() < 0.01
        assert np.abs(np.diff(samples[-240:])).max() < 0.01
        assert abs(float(samples.mean())) < 0.001


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_sound_begins_within_a_tenth_of_a_second_of_its_piece(sentence: str) -> None:
    for piece in spoken(sentence):
        level = np.sqrt(np.square(heard(piece)[: 240 * 10].reshape(-1, 240)).mean(axis=1))
        assert level.max() > 0.005


def test_a_long_sentence_comes_in_pieces_with_pauses_between() -> None:
    pieces = spoken(SENTENCES[6])
    assert len(pieces) >= 3
    assert all(100 <= piece.pause_ms <= 400 for piece in pieces)


@pytest.mark.alone
def test_the_first_sound_is_there_within_150_ms_of_the_text() -> None:
    voice()
    slowest = 0.0
    for sentence in SENTENCES:
        began = time.perf_counter()
        next(voice().pieces(sentence))
        slowest = max(slowest, time.perf_counter() - began)
    assert slowest < 0.15


@pytest.mark.parametrize("strange", ["", "\n", "😀", "日本", "...", "—", "'", "()", "\x00\ufffd", "\u202e"])
def test_unpronounceable_text_is_silence(strange: str) -> None:
    assert spoken(strange) == ()


def test_endless_text_is_cut() -> None:
    assert sum(len(piece.pcm) for piece in voice().pieces("na " * 1000)) == sum(
        len(piece.pcm) for piece in voice().pieces(("na " * 1000)[:LONGEST_TEXT])
    )


def test_the_same_sentence_sounds_the_same() -> None:
    assert list(voice().pieces("Okay.")) == list(voice().pieces("Okay."))


def test_a_whole_text_has_rests_between_its_sentences() -> None:
    both, one, other = (len(speak(text)) // 48 for text in ("Yes. No.", "Yes.", "No."))
    assert 250 <= both - one - other <= 450
    assert speak("") == b""


def test_nothing_is_fetched() -> None:
    """In a process without any sockets, the voice loads and speaks."""
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a socket was asked for')\n"
        "socket.socket.__init__ = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from backend.extensions.local.synthesis.voice import speak\n"
        "assert speak('Hello, Qworpel.')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
