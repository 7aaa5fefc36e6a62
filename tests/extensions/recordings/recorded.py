"""Recordings made without a call, and readers of them."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from backend.extensions.recordings.journal import EndReason, JournalLine
from backend.extensions.recordings.recorder import CallRecorder
from backend.extensions.recordings.store import RecordingStore
from backend.extensions.recordings.utterances import RecordedUtterance
from backend.extensions.recordings.writer import ASSISTANT, CALLER, ActiveRecording, Channel
from backend.media.frame import FRAME_BYTES, FRAME_SAMPLES, SAMPLE_RATE, Frame
from backend.sessions.recorder import OpenRecorder
from tests.support.tones import tone


def store_in(
    folder: Path, limit: int = 0, *, keep_s: float | None = None, clock: Callable[[], float] = time.time
) -> RecordingStore:
    """A store in `folder`, by default without expiry."""
    return RecordingStore(folder, limit, keep_s=keep_s, clock=clock)


def recording_into(store: RecordingStore, notice: str = "") -> OpenRecorder:
    """The maker of calls' recorders, over a store."""
    return partial(CallRecorder, store, notice)


def add_tone(recording: ActiveRecording, channel: Channel, hertz: float, from_ms: int, ms: int) -> None:
    """Put a tone on one side."""
    pcm, at = tone(hertz, ms), from_ms * SAMPLE_RATE // 1000
    for number, start in enumerate(range(0, len(pcm), FRAME_BYTES)):
        recording.add_frame(channel, at + number * FRAME_SAMPLES, Frame(pcm[start : start + FRAME_BYTES]))


def said(item: str, text: str, from_ms: int, to_ms: int) -> JournalLine:
    """A line about something the caller said, with words of equal length."""
    words = text.split()
    each = (to_ms - from_ms) // len(words)
    timed = [(word, from_ms + each * number, from_ms + each * (number + 1)) for number, word in enumerate(words)]
    utterance: RecordedUtterance = {
        "role": "user",
        "item_id": item,
        "text": text,
        "from_ms": from_ms,
        "to_ms": to_ms,
        "interrupted": False,
        "typed": False,
        "words": timed,
    }
    return JournalLine(utterance=utterance)


async def recorded(
    store: RecordingStore, owner: str = "ada", conversation: str = "c1", *, ms: int = 600, end: EndReason = "call_ended"
) -> str:
    """Make a finished recording: 440 Hz from the caller, then 1000 Hz from the assistant, and one utterance."""
    recording = store.begin(owner, conversation, "s1", lambda _: None)
    add_tone(recording, CALLER, 440, 0, ms // 2)
    add_tone(recording, ASSISTANT, 1000, ms // 2, ms // 2)
    recording.add_line(said("i1", "good morning", 0, ms // 2))
    recording.end(end)
    await store.writer.settle([recording], 5.0)
    return recording.begin.id


def files_in(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def channels(path: Path) -> NDArray[np.int16]:
    """The file's sound at 24 kHz, shape (2, samples)."""
    resampler = av.AudioResampler(format="s16", layout="stereo", rate=SAMPLE_RATE)
    with av.open(str(path)) as file:
        frames = [each for decoded in file.decode(audio=0) for each in resampler.resample(decoded)]
    pairs = np.concatenate([frame.to_ndarray().reshape(-1, 2) for frame in frames])
    return pairs.T


def loud_spans(samples: NDArray[np.int16], threshold: int = 1500) -> list[tuple[int, int]]:
    """The spans, in milliseconds, in which a side is loud; pauses under 100 ms do not count."""
    whole = len(samples) // 24 * 24
    loud = np.flatnonzero(np.abs(samples[:whole].astype(int)).reshape(-1, 24).max(axis=1) > threshold)
    spans: list[tuple[int, int]] = []
    for ms in map(int, loud):
        if spans and ms - spans[-1][1] < 100:
            spans[-1] = (spans[-1][0], ms + 1)
        else:
            spans.append((ms, ms + 1))
    return spans
