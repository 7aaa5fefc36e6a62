"""libopus through our binding: sound passes, losses are concealed, mistakes are typed."""

import ctypes.util

import numpy as np
import pytest

from backend.errors import MissingLibrary
from backend.media import opus
from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from backend.media.opus import (
    PLAIN_SILENCE_PACKET,
    RESTING_AFTER,
    SILENCE_PACKET,
    BadPacket,
    CodecFailed,
    OpusDecoder,
    OpusEncoder,
)
from tests.support.speech import frames_of, power, samples_of, speech, tone

CELT_SILENCE = b"\xf8\xff\xfe"
"""One frame without redundancy that decodes to zeros."""
SENTENCE = "What is the weather in Seattle tomorrow morning?"


def encoded(pcm: bytes) -> list[bytes]:
    encoder = OpusEncoder()
    return [encoder.encode(frame) for frame in frames_of(pcm)]


def likeness(one: bytes, other: bytes) -> float:
    """Return the correlation, from -1 to 1."""
    a, b = samples_of(one), samples_of(other)
    return float(np.dot(a, b) / np.sqrt(np.dot(a, a) * np.dot(b, b) + 1))


def test_a_tone_passes_the_codec() -> None:
    decoder = OpusDecoder()
    heard = b"".join(decoder.decode(packet) for packet in encoded(tone(1000, 1000)))
    spectrum = np.abs(np.fft.rfft(samples_of(heard)[-12_000:] * np.hanning(12_000)))
    loudest = int(np.argmax(spectrum))
    assert loudest * 2 == 1000
    assert np.sum(spectrum[loudest - 3 : loudest + 4] ** 2) > 0.98 * np.sum(spectrum**2)


def test_a_lost_packet_is_rebuilt_from_the_next() -> None:
    packets = encoded(speech(SENTENCE))
    whole = OpusDecoder()
    reference = [whole.decode(packet) for packet in packets]
    loud = [n for n in range(10, len(packets) - 1) if power(reference[n]) > 1e6]
    rebuilt: list[float] = []
    concealed: list[float] = []
    for lost in loud[::5]:
        for mended, by_redundancy in ((rebuilt, True), (concealed, False)):
            decoder = OpusDecoder()
            for packet in packets[:lost]:
                decoder.decode(packet)
            mend = decoder.recover(packets[lost + 1]) if by_redundancy else decoder.conceal()
            assert len(mend) == FRAME_BYTES
            mended.append(likeness(mend, reference[lost]))
    assert np.mean(rebuilt) > 0.9
    assert np.mean(rebuilt) > np.mean(concealed) + 0.1
    assert np.mean(concealed) > 0.2


def test_concealment_fades_out() -> None:
    decoder = OpusDecoder()
    for packet in encoded(tone(300, 400)):
        decoder.decode(packet)
    mends = [power(decoder.conceal()) for _ in range(15)]
    assert mends[0] > 1e6 and mends[-1] < mends[0] / 100


@pytest.mark.parametrize(("samples", "expected"), [(480, 480), (1440, 1440), (60, 60), (0, 60), (500, 480)])
def test_concealed_lengths_are_whole_steps(samples: int, expected: int) -> None:
    assert len(OpusDecoder().conceal(samples)) == 2 * expected


@pytest.mark.parametrize(
    ("toc", "milliseconds"), [(0xE0, 2.5), (0xE8, 5), (0xF0, 10), (0xF8, 20), (0xF9, 40), (0x58, 60)]
)
def test_packets_of_any_length_decode(toc: int, milliseconds: float) -> None:
    """Decode empty frames of discontinuous transmission (RFC 6716, 3.1), with a length given by their first byte."""
    assert len(OpusDecoder().decode(bytes([toc]))) == milliseconds * 48


@pytest.mark.document("001", "audio path")
def test_a_stereo_packet_is_decoded_as_mono() -> None:
    stereo = bytes([CELT_SILENCE[0] | 0b100]) + CELT_SILENCE[1:]
    assert len(OpusDecoder().decode(stereo)) == FRAME_BYTES


def test_a_rest_of_the_encoder_does_not_harm_the_next_word() -> None:
    voice = frames_of(speech(SENTENCE))
    for cut, back in ((30, 60), (72, 33)):
        encoder, spared, skipping = OpusEncoder(), OpusDecoder(), OpusDecoder()
        for packet in [encoder.encode(frame) for frame in voice[:cut]] + [encoder.rest() for _ in range(RESTING_AFTER)]:
            spared.decode(packet)
            skipping.decode(packet)
        quiet = [skipping.decode(encoder.rest()) for _ in range(40)]
        assert np.abs(samples_of(quiet[-1])).max() <= 1
        word = encoder.encode(voice[back])
        heard, wanted = samples_of(skipping.decode(word)), samples_of(spared.decode(word))
        assert np.mean((heard - wanted) ** 2) < np.mean(wanted**2) / 1000


def test_a_resting_encoder_soon_returns_the_packet_of_silence() -> None:
    encoder = OpusEncoder()
    assert encoder.rest() == SILENCE_PACKET
    encoder.encode(Frame(tone(440, 20)))
    packets = [encoder.rest() for _ in range(RESTING_AFTER + 2)]
    assert [packet == SILENCE_PACKET for packet in packets] == [False] * RESTING_AFTER + [True] * 2


def plain() -> OpusEncoder:
    encoder = OpusEncoder()
    encoder.set_fec(False)
    return encoder


def likeness_db(original: bytes, packets: list[bytes]) -> float:
    """Return the signal-to-noise ratio at the delay of the codec."""
    decoder = OpusDecoder()
    heard = samples_of(b"".join(decoder.decode(packet) for packet in packets)).astype(float)
    wanted = samples_of(original).astype(float)[: len(heard) - 400]
    noises = [np.mean((wanted - heard[late : late + len(wanted)]) ** 2) for late in range(400)]
    return float(10 * np.log10(np.mean(wanted**2) / min(noises)))


def test_a_voice_without_redundancy_is_as_good_in_celt_packets() -> None:
    pcm = speech(SENTENCE)
    encoder = plain()
    packets = [encoder.encode(frame) for frame in frames_of(pcm)]
    assert {packet[0] >> 3 for packet in packets} == {27}  # CELT alone, 12 kHz wide, 20 ms (RFC 6716, table 2)
    assert likeness_db(pcm, packets) > likeness_db(pcm, encoded(pcm)) - 1


def test_a_change_of_redundancy_during_a_word_is_inaudible() -> None:
    pcm = speech(SENTENCE)
    encoder, packets = OpusEncoder(), []
    for number, frame in enumerate(frames_of(pcm)):
        if number % 10 == 5:
            encoder.set_fec(number % 20 == 15)
        packets.append(encoder.encode(frame))
    assert len({packet[0] >> 3 for packet in packets}) >= 2
    assert likeness_db(pcm, packets) > likeness_db(pcm, encoded(pcm)) - 2


def test_a_change_of_redundancy_at_rest_does_not_harm_the_next_word() -> None:
    voice = frames_of(speech(SENTENCE))
    for wanted in (False, True):
        encoder, decoder = OpusEncoder(), OpusDecoder()
        encoder.set_fec(not wanted)
        for frame in voice[:40]:
            decoder.decode(encoder.encode(frame))
        for _ in range(30):
            decoder.decode(encoder.rest())
        encoder.set_fec(wanted)
        quiet = b"".join(decoder.decode(encoder.rest()) for _ in range(30))
        assert np.abs(samples_of(quiet)).max() <= 2
        fresh, alike = OpusEncoder(), OpusDecoder()
        fresh.set_fec(wanted)
        for _ in range(RESTING_AFTER):
            alike.decode(fresh.rest())
        heard = samples_of(b"".join(decoder.decode(encoder.encode(frame)) for frame in voice[:20])).astype(float)
        clean = samples_of(b"".join(alike.decode(fresh.encode(frame)) for frame in voice[:20])).astype(float)
        assert np.mean((heard - clean) ** 2) < np.mean(clean**2) / 4


def test_a_rest_without_redundancy_does_not_change_the_next_word() -> None:
    voice = frames_of(speech(SENTENCE))
    encoder, spared, skipping = plain(), OpusDecoder(), OpusDecoder()
    for packet in [encoder.encode(frame) for frame in voice[:50]] + [encoder.rest() for _ in range(RESTING_AFTER)]:
        spared.decode(packet)
        skipping.decode(packet)
    for _ in range(40):
        packet = encoder.rest()
        assert packet == PLAIN_SILENCE_PACKET
        skipping.decode(packet)
    word = encoder.encode(voice[20])
    assert skipping.decode(word) == spared.decode(word)


@pytest.mark.parametrize("packet", [b"", b"\xfb", b"\xfb\x00", b"\xff" * 3])
def test_a_packet_that_is_not_opus_is_refused(packet: bytes) -> None:
    with pytest.raises(BadPacket):
        OpusDecoder().decode(packet)


def test_wrong_use_raises_a_typed_error_and_closing_twice_is_safe() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    for codec in (encoder, decoder):
        codec.close()
        codec.close()
    with pytest.raises(CodecFailed):
        OpusEncoder(complexity=11)
    with pytest.raises(CodecFailed):
        OpusEncoder().encode(Frame(b"\0\0"))
    with pytest.raises(CodecFailed):
        encoder.encode(SILENCE)
    with pytest.raises(CodecFailed):
        encoder.set_fec(False)
    with pytest.raises(CodecFailed):
        decoder.decode(SILENCE_PACKET)


def test_the_library_in_pyav_replaces_a_missing_system_library(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = [name for name in opus._candidates() if "av.libs" in name]
    monkeypatch.setattr(opus, "_candidates", lambda: ["libnothing.so", *bundled])
    opus.load_opus.cache_clear()
    try:
        decoder = OpusDecoder()
        assert [len(decoder.decode(packet)) for packet in encoded(tone(440, 60))] == [FRAME_BYTES] * 3
    finally:
        opus.load_opus.cache_clear()


def test_the_error_about_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opus, "_candidates", lambda: ["libnothing.so", ctypes.util.find_library("c")])
    opus.load_opus.cache_clear()
    try:
        with pytest.raises(MissingLibrary) as caught:
            OpusEncoder()
        assert "libopus0" in caught.value.hint
    finally:
        opus.load_opus.cache_clear()
