"""WAV files of every kind we promise to read, and plain words about the rest."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from backend.errors import SetupError
from backend.media.wav import BadWav, read_wav, write_wav
from tests.support.speech import samples_of, tone


def wav(
    data: bytes, *, rate: int = 24_000, channels: int = 1, bits: int = 16, code: int = 1, extra: bytes = b""
) -> bytes:
    """A WAV file's bytes; `extra` goes to the end of the fmt chunk."""
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate, rate * width, width, bits) + extra
    chunks = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    chunks += b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "x.wav"
    path.write_bytes(content)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_wav(tmp_path / "x.wav", tone(440, 100))
    assert read_wav(tmp_path / "x.wav") == tone(440, 100)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_every_rate_becomes_24_kilohertz(tmp_path: Path, rate: int) -> None:
    there = samples_of(read_wav(saved(tmp_path, wav(tone(1000, 500, rate=rate), rate=rate))))
    assert len(there) == 12_000
    assert np.abs(there - samples_of(tone(1000, 500)))[1200:-1200].max() < 30


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
def test_every_width_becomes_16_bits(tmp_path: Path, bits: int) -> None:
    wanted = samples_of(tone(440, 50))
    scaled = np.floor(wanted * 2.0 ** (bits - 16)).astype(np.int64) + (128 if bits == 8 else 0)
    data = b"".join(int(x).to_bytes(bits // 8, "little", signed=bits != 8) for x in scaled)
    there = samples_of(read_wav(saved(tmp_path, wav(data, bits=bits))))
    assert np.abs(there - wanted).max() <= (256 if bits == 8 else 0)


def test_stereo_is_the_middle_of_both_sides(tmp_path: Path) -> None:
    data = struct.pack("<hh", 1000, -500) * 100
    assert set(samples_of(read_wav(saved(tmp_path, wav(data, channels=2))))) == {250.0}


def test_loud_stereo_does_not_overflow(tmp_path: Path) -> None:
    data = struct.pack("<hh", 32767, 32767) * 100
    assert set(samples_of(read_wav(saved(tmp_path, wav(data, channels=2))))) == {32767.0}


def test_the_extensible_format_is_read(tmp_path: Path) -> None:
    extra = struct.pack("<HHIH", 22, 16, 4, 1) + bytes(14)
    assert read_wav(saved(tmp_path, wav(tone(440, 20), code=0xFFFE, extra=extra))) == tone(440, 20)


def test_a_recording_cut_short_is_taken_as_it_is(tmp_path: Path) -> None:
    assert read_wav(saved(tmp_path, wav(tone(440, 100))[:-481])) == tone(440, 100)[:-482]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ID3 not a wav file at all",
        b"RIFF\x04\0\0\0WAVE",
        wav(b"", code=3, bits=32),
        wav(b"", channels=6),
        wav(b"", rate=96_000),
        wav(b"", bits=12),
        b"RIFF\x20\0\0\0WAVEfmt \x02\0\0\0\x01\0data\0\0\0\0",
    ],
)
def test_anything_else_is_refused_with_a_hint(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadWav) as caught:
        read_wav(saved(tmp_path, content))
    assert "x.wav" in str(caught.value) and "PCM" in caught.value.hint


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadWav, match="No such file"):
        read_wav(tmp_path / "none.wav")


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="No such file"):
        write_wav(tmp_path / "none" / "x.wav", b"")
