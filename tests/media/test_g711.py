"""G.711: the tables of the standard, the quality of both laws, and 20 ms of output for 20 ms of input."""

import numpy as np
import pytest

from backend.errors import BadRequest
from backend.media.frame import FRAME_BYTES, Frame
from backend.media.g711 import PACKET_BYTES, Decoder, Encoder, Law, decode, encode
from tests.support.speech import samples_of, tone

LAWS = list(Law)


def decibels(signal: np.ndarray, error: np.ndarray) -> float:
    return 10 * float(np.log10(np.mean(signal**2) / np.mean(error**2)))


@pytest.mark.parametrize(
    ("law", "byte", "sample"),
    [
        # μ-law: the ends, the smallest steps and the middle of the table in ITU-T G.711, in 16 bits
        (Law.MU, 0x00, -32124),
        (Law.MU, 0x80, 32124),
        (Law.MU, 0x7F, 0),
        (Law.MU, 0xFF, 0),
        (Law.MU, 0xFE, 8),
        (Law.MU, 0xEF, 132),
        # A-law, with every second bit inverted
        (Law.A, 0x2A, -32256),
        (Law.A, 0xAA, 32256),
        (Law.A, 0xD5, 8),
        (Law.A, 0x55, -8),
    ],
)
def test_a_byte_decodes_to_the_sample_of_the_standard(law: Law, byte: int, sample: int) -> None:
    assert samples_of(decode(bytes([byte]), law))[0] == sample


@pytest.mark.parametrize("law", LAWS)
def test_every_byte_survives_decoding_and_encoding(law: Law) -> None:
    coded = bytes(range(256))
    again = encode(decode(coded, law), law)
    differing = [byte for byte, back in zip(coded, again, strict=True) if byte != back]
    assert differing in ([], [0x7F])  # μ-law's negative zero is its positive one


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("volume", [0.02, 0.1, 0.5])
def test_a_tone_is_coded_about_36_db_above_its_noise_at_any_level(law: Law, volume: float) -> None:
    pcm = (np.sin(np.arange(8000) * 2 * np.pi * 997 / 8000) * volume * 32767).astype("<i2")
    error = samples_of(decode(encode(pcm.tobytes(), law), law)) - pcm
    assert decibels(pcm.astype(float), error) > 33


@pytest.mark.parametrize("law", LAWS)
def test_a_frame_becomes_160_bytes_and_back(law: Law) -> None:
    encoder, decoder = Encoder(law), Decoder(law)
    assert len(encoder.silence) == PACKET_BYTES and np.abs(samples_of(decode(encoder.silence, law))).max() <= 8
    voice = tone(800, 400)
    for at in range(0, len(voice) - FRAME_BYTES + 1, FRAME_BYTES):
        coded = encoder.encode(Frame(voice[at : at + FRAME_BYTES]))
        assert len(coded) == PACKET_BYTES == 160
        assert len(decoder.decode(coded)) == FRAME_BYTES


@pytest.mark.parametrize("law", LAWS)
def test_a_tone_passes_a_call_unchanged_but_4_ms_late(law: Law) -> None:
    encoder, decoder = Encoder(law), Decoder(law)
    voice = tone(1000, 1000)
    frames = [Frame(voice[at : at + FRAME_BYTES]) for at in range(0, len(voice), FRAME_BYTES)]
    there = samples_of(b"".join(decoder.decode(encoder.encode(frame)) for frame in frames))
    sent = samples_of(voice)
    lags = range(240)
    late = max(lags, key=lambda lag: float(np.dot(there[4800:9600], sent[4800 - lag : 9600 - lag])))
    lag = late % 24  # a tone of 1 kHz repeats every 24 samples
    error = there[4800:9600] - sent[4800 - lag : 9600 - lag]
    assert decibels(sent, error) > 30


def test_frequencies_above_the_band_of_a_telephone_are_filtered_out_without_aliasing() -> None:
    encoder = Encoder(Law.MU)
    voice = tone(6000, 500)
    coded = b"".join(encoder.encode(Frame(voice[at : at + FRAME_BYTES])) for at in range(0, len(voice), FRAME_BYTES))
    assert np.abs(samples_of(decode(coded, Law.MU))[800:-800]).max() < np.abs(samples_of(voice)).max() / 500


def test_formats_have_the_names_of_the_protocols() -> None:
    assert {Law.named(name) for name in ("PCMU", "audio/pcmu", "g711_ulaw", "audio/x-mulaw")} == {Law.MU}
    assert {Law.named(name) for name in ("pcma", "audio/pcma", "g711_alaw")} == {Law.A}
    with pytest.raises(BadRequest):
        Law.named("audio/pcm")
