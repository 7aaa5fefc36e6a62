"""Sound files of any format are read, and WAV is written."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from backend.errors import SetupError
from backend.media.sound_file import BadAudioFile, read_audio, write_wav
from tests.support.speech import tone
from tests.support.tones import pitch


def written(path: Path, codec: str, form: str, rate: int, channels: str, sound: Any = None) -> Path:
    """Write `sound`, with samples from -1 to 1, or two seconds of 440 Hz, into a file of that kind."""
    if sound is None:
        sound = np.sin(2 * np.pi * 440 * np.arange(2 * rate) / rate) * 0.5
    sound = sound.astype(np.float32)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate, layout=channels)
        frame = av.AudioFrame.from_ndarray(sound[None], format="flt", layout="mono")
        frame.rate = rate
        size = stream.codec_context.frame_size or 1024
        fifo, resampler = av.AudioFifo(), av.AudioResampler(format=form, layout=channels, rate=rate)
        for part in resampler.resample(frame):
            fifo.write(part)
        while piece := fifo.read(size, partial=True):
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("name", "codec", "form", "rate", "channels"),
    [
        ("floats.wav", "pcm_f32le", "flt", 44_100, "stereo"),
        ("a.mp3", "libmp3lame", "fltp", 44_100, "stereo"),
        ("a.ogg", "libopus", "flt", 48_000, "mono"),
        ("a.flac", "flac", "s16", 16_000, "mono"),
        ("a.m4a", "aac", "fltp", 44_100, "mono"),
    ],
)
def test_sound_of_any_format_is_read(
    tmp_path: Path, name: str, codec: str, form: str, rate: int, channels: str
) -> None:
    pcm = read_audio(written(tmp_path / name, codec, form, rate, channels))
    assert 1.9 <= len(pcm) / 48_000 <= 2.2
    assert pitch(pcm[24_000:72_000]) == pytest.approx(440, abs=5)


def test_a_file_without_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not sound")
    with pytest.raises(BadAudioFile, match=r"notes\.txt cannot be read"):
        read_audio(tmp_path / "notes.txt")
    with pytest.raises(BadAudioFile, match=r"gone\.wav cannot be read"):
        read_audio(tmp_path / "gone.wav")
    write_wav(tmp_path / "empty.wav", b"")
    with pytest.raises(BadAudioFile):
        read_audio(tmp_path / "empty.wav")


def test_a_written_sound_is_read_back(tmp_path: Path) -> None:
    write_wav(tmp_path / "x.wav", tone(440, 100))
    assert read_audio(tmp_path / "x.wav") == tone(440, 100)


def test_a_truncated_recording_is_read_up_to_its_end(tmp_path: Path) -> None:
    write_wav(tmp_path / "x.wav", tone(440, 100))
    whole = (tmp_path / "x.wav").read_bytes()
    (tmp_path / "x.wav").write_bytes(whole[:-481])
    assert read_audio(tmp_path / "x.wav") == tone(440, 100)[:-482]


def test_writing_to_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError):
        write_wav(tmp_path / "none" / "x.wav", b"")
