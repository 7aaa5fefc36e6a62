"""The one thread that writes all recordings of a process, and the queue of each through which its call reaches it.

A call puts frames and lines into its queue, which takes a microsecond, and goes on. The thread wakes every `PAUSE_S`,
takes what has come, puts both sides together and encodes what is older than `HOLD_SAMPLES`, so that a frame that came
late still finds its place. Where it cannot follow (a slow disk, a busy machine), the queue is full, frames are left
out, and the gap is noted. Where it cannot write at all, the recording ends, and the call does not.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import av
import numpy as np

from backend.extensions.recordings.journal import Begin, End, EndReason, JournalWriter, Line
from backend.extensions.recordings.ogg import OggWriter, Stereo
from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame

log = logging.getLogger(__name__)

PAUSE_S = 0.25
"""Seconds between two rounds of the thread."""
HOLD_SAMPLES = SAMPLE_RATE
"""How long sound waits for the other side's sound: a second."""
QUEUE_LIMIT = 1_500
"""Frames and lines that wait for the thread, of one recording: ten seconds and more of both sides."""
LINES_LIMIT = 200
"""Lines that may wait beyond that: they are few, and frames do not displace them."""
LONGEST_SAMPLES = SAMPLE_RATE * 5
"""The most that is encoded in one step."""
CLOSE_WITHIN_S = 5.0
"""Seconds a process that ends gives its recordings."""
MEGABYTE = 1_000_000

Channel = Literal[0, 1]
CALLER: Channel = 0
"""Left."""
ASSISTANT: Channel = 1
"""Right."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes that may be kept; 0: no limit."""

    of_user: int
    of_all: int


class _Sound(NamedTuple):
    channel: Channel
    position: int
    frame: Frame


class ActiveRecording:
    """A recording under way, as its call sees it: no method waits, and none fails.

    `now()` and positions are samples since it began.
    """

    def __init__(self, begin: Begin, folder: Path, on_end: Callable[[EndReason], object]) -> None:
        """`folder` is its owner's; `on_end` is called from the thread when the recording ends by itself."""
        self.begin = begin
        self.folder = folder
        self.on_end = on_end
        self.queue: deque[_Sound | Line] = deque()
        self.ending: EndReason | None = None
        """The reason for the recording's end; None while it goes on."""
        self.discarded = False
        """Whether the recording is to be deleted."""
        self.ended = threading.Event()
        """Set once its files are closed, or gone."""
        self.began_at = time.monotonic()
        self._gap_from: int | None = None

    def __repr__(self) -> str:
        return f"ActiveRecording({self.begin.id[:4]}…, {len(self.queue)} waiting)"

    @property
    def audio_path(self) -> Path:
        """Return the path of its sound."""
        return self.folder / f"{self.begin.id}.ogg"

    def now(self) -> int:
        """Return the samples since the recording began."""
        return int((time.monotonic() - self.began_at) * SAMPLE_RATE)

    def add_frame(self, channel: Channel, position: int, frame: Frame) -> None:
        """Put a frame at its place; where the queue is full it is left out, and a gap is noted."""
        if len(self.queue) >= QUEUE_LIMIT:
            self._gap_from = position if self._gap_from is None else self._gap_from
            return
        if self._gap_from is not None:
            self.add_line(Line(gap=(_ms(self._gap_from), _ms(position))))
            self._gap_from = None
        self.queue.append(_Sound(channel, position, frame))

    def add_line(self, line: Line) -> None:
        """Have a line written into the journal."""
        if len(self.queue) < QUEUE_LIMIT + LINES_LIMIT:
            self.queue.append(line)

    def end(self, reason: EndReason) -> None:
        """Have all waiting frames and lines written, and the files closed. The first call counts."""
        self.ending = self.ending or reason

    def discard(self) -> None:
        """Have the files deleted."""
        self.discarded = True
        self.ending = self.ending or "stopped"


class _Files:
    """The files of one recording, in the hands of the thread."""

    def __init__(self, recording: ActiveRecording) -> None:
        recording.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.ogg_path = recording.audio_path
        self.journal_path = self.ogg_path.with_suffix(".jsonl")
        self.journal = JournalWriter(self.journal_path)
        self.journal.write(Line(begin=recording.begin))
        self.ogg = OggWriter(self.ogg_path)
        self.written = self.placed = 0
        """The encoded samples, and the end of the sound."""
        self._waiting: Stereo = np.zeros((2 * HOLD_SAMPLES, 2), np.int16)
        """What comes after them."""

    def place(self, sound: _Sound) -> None:
        """Put a frame in its place; what is encoded already stays as it is."""
        samples = np.frombuffer(sound.frame, "<i2")
        at = sound.position - self.written
        if at < 0:
            samples, at = samples[-at:], 0
        if at + len(samples) > len(self._waiting):
            if at > LONGEST_SAMPLES:
                return  # a fault in a clock: nothing is placed so far ahead
            more = np.zeros((at + FRAME_SAMPLES + HOLD_SAMPLES - len(self._waiting), 2), np.int16)
            self._waiting = np.concatenate([self._waiting, more])
        self._waiting[at : at + len(samples), sound.channel] = samples
        self.placed = max(self.placed, sound.position + FRAME_SAMPLES)

    def encode_until(self, position: int) -> None:
        """Encode everything before `position`."""
        while (count := min(position - self.written, LONGEST_SAMPLES) // FRAME_SAMPLES * FRAME_SAMPLES) > 0:
            piece = self._waiting[:count]
            if len(piece) < count:
                piece = np.concatenate([piece, np.zeros((count - len(piece), 2), np.int16)])
            self.ogg.write(piece)
            rest = self._waiting[count:]
            self._waiting = np.concatenate([rest, np.zeros((max(0, 2 * HOLD_SAMPLES - len(rest)), 2), np.int16)])
            self.written += count

    def close(self, end: End | None) -> None:
        """Close both files; with `end`, the journal gets its last line."""
        try:
            self.ogg.close()
        finally:
            if end is not None:
                self.journal.write(Line(end=end))
            self.journal.close()


class RecordingWriter:
    """The thread, and the recordings under way in this process."""

    def __init__(self, bounds: Bounds, size_of: Callable[[Path], int] = lambda _: 0) -> None:
        """`size_of` returns the bytes of a user's finished recordings, in their folder."""
        self.bounds = bounds
        self.kept_bytes = 0
        """Bytes of all finished recordings, as the last sweep found them, and of those that ended since."""
        self.opening = threading.Lock()
        """Held while a recording's files are made: the erasure of a user's files holds it, too."""
        self._size_of = size_of
        self._active: list[ActiveRecording] = []
        self._files: dict[str, _Files] = {}
        self._of_user: dict[str, int] = {}
        self._wake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"RecordingWriter({len(self._active)} under way)"

    @property
    def active(self) -> tuple[ActiveRecording, ...]:
        """The recordings under way."""
        return tuple(self._active)

    @property
    def depth(self) -> int:
        """Frames and lines that wait to be written."""
        return sum(len(recording.queue) for recording in self._active)

    def begin(self, recording: ActiveRecording) -> None:
        """Write a recording from now on. Returns immediately."""
        self._active.append(recording)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="recordings", daemon=True)
            self._thread.start()

    def hurry(self) -> None:
        """Begin the next round now."""
        self._wake.set()

    def close(self) -> None:
        """End all recordings, and the thread; blocks for a moment."""
        for recording in self.active:
            recording.end("call_ended")
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_WITHIN_S)

    def _run(self) -> None:
        while not (self._closing and not self._active):
            self._wake.wait(PAUSE_S)
            self._wake.clear()
            for recording in self.active:
                self._serve(recording)

    def _serve(self, recording: ActiveRecording) -> None:
        """Write what has come of one recording; a fault ends that one."""
        ending, until = recording.ending, recording.now()  # looked at first: what was queued before is written
        try:
            reason = self._write(recording, until, ending)
        except (OSError, av.FFmpegError, ValueError) as error:
            log.warning("a recording could not be written (%s) and has ended; its call goes on", type(error).__name__)
            reason = "failed"
        except Exception:
            log.exception("a recording failed and has ended; its call goes on")
            reason = "failed"
        if reason is None:
            return
        recording.ending = recording.ending or reason
        self._finish(recording, reason)
        if ending is None:
            recording.on_end(reason)

    def _write(self, recording: ActiveRecording, until: int, ending: EndReason | None) -> EndReason | None:
        """Return why the recording is over; None: it goes on."""
        files = self._opened(recording)
        if files is None:
            return ending or "full"
        lines: list[Line] = []
        while recording.queue:
            queued = recording.queue.popleft()
            if isinstance(queued, Line):
                lines.append(queued)
            else:
                files.place(queued)
        files.journal.write(*lines)
        files.encode_until(max(until, files.placed) if ending else until - HOLD_SAMPLES)
        return ending or self._over_bounds(recording, files)

    def _opened(self, recording: ActiveRecording) -> _Files | None:
        """Return its files, and make them if necessary; None without room for them, or if it is to be deleted."""
        if (files := self._files.get(recording.begin.id)) is not None:
            return files
        with self.opening:
            if recording.discarded or not self._has_room(recording):
                return None
            self._files[recording.begin.id] = files = _Files(recording)
            return files

    def _has_room(self, recording: ActiveRecording) -> bool:
        bounds, of_user = self.bounds, self._size_of(recording.folder)
        self._of_user[recording.begin.id] = of_user
        return not (bounds.of_user and of_user >= bounds.of_user) and not self._is_full()

    def _is_full(self) -> bool:
        under_way = sum(files.ogg.bytes_written for files in self._files.values())
        return bool(self.bounds.of_all) and self.kept_bytes + under_way >= self.bounds.of_all

    def _over_bounds(self, recording: ActiveRecording, files: _Files) -> EndReason | None:
        size, bounds = files.ogg.bytes_written, self.bounds
        if bounds.of_user and self._of_user[recording.begin.id] + size >= bounds.of_user:
            return "full"
        return "full" if self._is_full() else None

    def _finish(self, recording: ActiveRecording, reason: EndReason) -> None:
        """Close the files, or delete them."""
        files = self._files.pop(recording.begin.id, None)
        self._of_user.pop(recording.begin.id, None)
        try:
            if files is not None:
                duration_ms = _ms(files.written)
                files.close(None if recording.discarded else End(reason, duration_ms))
                self.kept_bytes += 0 if recording.discarded else files.ogg.bytes_written
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are written
            log.warning("a recording could not be closed (%s)", type(error).__name__)
        if files is not None and recording.discarded:
            files.ogg_path.unlink(missing_ok=True)
            files.journal_path.unlink(missing_ok=True)
        self._active.remove(recording)
        recording.queue.clear()
        recording.ended.set()


def _ms(samples: int) -> int:
    return samples * 1000 // SAMPLE_RATE
