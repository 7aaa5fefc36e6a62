"""Running recordings: one task for each writes the frames from its call's queue.

A call puts frames and lines into the queue, which takes a microsecond, and goes on. The task wakes every `PAUSE_S`. A
thread then mixes both sides, and encodes sound older than `HOLD_SAMPLES`, so that a late frame still finds its place.
If the disk is too slow, the queue fills up, frames are left out, and the gap is noted. If the disk cannot be written to
at all, the recording ends, and the call goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, ParamSpec, TypeVar

import av
import numpy as np

from backend.extensions.recordings.journal import EndReason, JournalLine, JournalWriter, RecordingBegin, RecordingEnd
from backend.extensions.recordings.ogg import OggWriter, Stereo
from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame

log = logging.getLogger(__name__)

PAUSE_S = 0.5
"""Seconds between two rounds of writing."""
HOLD_SAMPLES = SAMPLE_RATE
"""Samples for which sound waits for the other side's sound: a second."""
WINDOW_SAMPLES = SAMPLE_RATE * 4
"""The samples that are mixed at a time, and the most that are encoded in one step."""
QUEUE_LIMIT = 1_500
"""The most waiting frames and lines of one recording: more than ten seconds of both sides."""
LINES_LIMIT = 200
"""Lines that may wait beyond that: they are few, and frames do not displace them."""
CLOSE_WITHIN_S = 5.0
"""Seconds that recordings have to end when their process ends."""

P = ParamSpec("P")
T = TypeVar("T")
Channel = Literal[0, 1]
CALLER: Channel = 0
"""The left channel."""
ASSISTANT: Channel = 1
"""The right channel."""


class _Sound(NamedTuple):
    channel: Channel
    position: int
    frame: Frame


class ActiveRecording:
    """A recording under way, as its call sees it: no method waits, and none fails.

    `now()` and positions are samples since it began.
    """

    def __init__(self, begin: RecordingBegin, folder: Path) -> None:
        """`folder` is the owner's folder."""
        self.begin = begin
        self.folder = folder
        self.queue: deque[_Sound | JournalLine] = deque()
        self.ending: EndReason | None = None
        """The reason for the recording's end; None while it goes on."""
        self.ends = asyncio.Event()
        self.began_at = time.monotonic()
        self._gap_from: int | None = None

    @property
    def audio_path(self) -> Path:
        """Return the path of its sound."""
        return self.folder / f"{self.begin.id}.ogg"

    def now(self) -> int:
        """Return the samples since the recording began."""
        return int((time.monotonic() - self.began_at) * SAMPLE_RATE)

    def add_frame(self, channel: Channel, position: int, frame: Frame) -> None:
        """Add a frame at its position; if the queue is full, leave it out and note a gap."""
        if len(self.queue) >= QUEUE_LIMIT:
            self._gap_from = position if self._gap_from is None else self._gap_from
            return
        if self._gap_from is not None:
            self.add_line(JournalLine(gap=(in_ms(self._gap_from), in_ms(position))))
            self._gap_from = None
        self.queue.append(_Sound(channel, position, frame))

    def add_line(self, line: JournalLine) -> None:
        """Add a line to the journal."""
        if len(self.queue) < QUEUE_LIMIT + LINES_LIMIT:
            self.queue.append(line)

    def end(self, reason: EndReason) -> None:
        """Let the writer write all waiting frames and lines, and close the files. Only the first call counts."""
        self.ending = self.ending or reason
        self.ends.set()


class _Files:
    """The files of one recording; their methods block."""

    def __init__(self, recording: ActiveRecording) -> None:
        recording.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.journal = JournalWriter(recording.audio_path.with_suffix(".jsonl"))
        self.journal.write(JournalLine(begin=recording.begin))
        self.ogg = OggWriter(recording.audio_path)
        self._written = self._placed = 0  # the encoded samples, and the end of the sound
        self._waiting: Stereo = np.zeros((WINDOW_SAMPLES, 2), np.int16)  # what comes after them

    def write(self, recording: ActiveRecording, until: int, *, last: bool) -> None:
        """Write the queued frames and lines; `last`: write all of the sound, and silence up to `until`."""
        lines: list[JournalLine] = []
        while recording.queue:
            queued = recording.queue.popleft()
            if isinstance(queued, JournalLine):
                lines.append(queued)
            else:
                self._place(queued)
        self.journal.write(*lines)
        self._encode_until(max(until, self._placed) if last else until - HOLD_SAMPLES)

    def close(self, reason: EndReason) -> None:
        """Close both files; the journal gets its last line."""
        try:
            self.ogg.close()
        finally:
            self.journal.write(JournalLine(end=RecordingEnd(reason, in_ms(self._written))))
            self.journal.close()

    def _place(self, sound: _Sound) -> None:
        """Put a frame in its place; sound that is already encoded stays as it is."""
        if sound.position + FRAME_SAMPLES > self._written + WINDOW_SAMPLES:
            self._encode_until(sound.position - HOLD_SAMPLES)
        samples, at = np.frombuffer(sound.frame, "<i2"), sound.position - self._written
        if at < 0:
            samples, at = samples[-at:], 0
        self._waiting[at : at + len(samples), sound.channel] = samples
        self._placed = max(self._placed, sound.position + FRAME_SAMPLES)

    def _encode_until(self, position: int) -> None:
        """Encode everything before `position`."""
        while (count := min(position - self._written, WINDOW_SAMPLES) // FRAME_SAMPLES * FRAME_SAMPLES) > 0:
            self.ogg.write(self._waiting[:count])
            self._waiting = np.concatenate([self._waiting[count:], np.zeros((count, 2), np.int16)])
            self._written += count


class RecordingWriter:
    """The recordings under way in this process. Their files are written by one thread at a time."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes that may be kept; 0: no limit."""
        self.kept_bytes = 0
        """Bytes of all finished recordings, as the last sweep found them, and of those that ended since."""
        self._limit = limit
        self._files: dict[ActiveRecording, _Files] = {}
        self._tasks: dict[ActiveRecording, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()

    @property
    def active(self) -> tuple[ActiveRecording, ...]:
        """The recordings under way."""
        return tuple(self._tasks)

    @property
    def depth(self) -> int:
        """Frames and lines that wait to be written."""
        return sum(len(recording.queue) for recording in self._tasks)

    def begin(self, recording: ActiveRecording, on_end: Callable[[EndReason], object]) -> None:
        """Write a recording from now on. Returns immediately; `on_end` is called if it ends by itself."""
        self._tasks[recording] = asyncio.create_task(self._run(recording, on_end), name="recording")

    async def settle(self, recordings: Iterable[ActiveRecording], within_s: float) -> bool:
        """Wait for recordings that end; return whether all were closed within `within_s` seconds."""
        tasks = [self._tasks[each] for each in recordings if each in self._tasks]
        _, late = await asyncio.wait(tasks, timeout=within_s) if tasks else ((), ())
        return not late

    async def in_turn(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run `work` in a thread, while no recording is written."""
        async with self._turn:
            return await asyncio.to_thread(work, *arguments, **options)

    async def close(self) -> None:
        """End all recordings."""
        for recording in self._tasks:
            recording.end("call_ended")
        await self.settle(self.active, CLOSE_WITHIN_S)

    async def _run(self, recording: ActiveRecording, on_end: Callable[[EndReason], object]) -> None:
        """Write one recording until it ends; a fault ends it."""
        try:
            reason = await self._write(recording)
        except Exception as error:  # noqa: BLE001 - whatever it is, the call goes on
            reason = _noted(error)
        by_itself = recording.ending is None
        recording.end(reason)
        try:
            if (files := self._files.pop(recording, None)) is not None:
                await self.in_turn(files.close, reason)
                self.kept_bytes += files.ogg.bytes_written
        except Exception as error:  # noqa: BLE001
            _noted(error)
        del self._tasks[recording]
        recording.queue.clear()
        if by_itself:
            on_end(reason)

    async def _write(self, recording: ActiveRecording) -> EndReason:
        """Write frames and lines until the recording must end, or there is no room; return the reason."""
        if self._is_full():
            return "full"
        self._files[recording] = files = await self.in_turn(_Files, recording)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S):
                    await recording.ends.wait()
            ending, until = recording.ending, recording.now()  # read first, so that everything queued before is written
            await self.in_turn(files.write, recording, until, last=ending is not None)
            if ending is not None:
                return ending
            if self._is_full():
                return "full"

    def _is_full(self) -> bool:
        under_way = sum(files.ogg.bytes_written for files in self._files.values())
        return bool(self._limit) and self.kept_bytes + under_way >= self._limit


def _noted(error: Exception) -> EndReason:
    """Log why a recording cannot be written, with a traceback unless the disk may be the reason; return the reason."""
    ours = None if isinstance(error, OSError | av.FFmpegError | ValueError) else error
    log.warning("a recording could not be written (%s) and has ended", type(error).__name__, exc_info=ours)
    return "failed"


def in_ms(samples: int) -> int:
    """Return the milliseconds of a number of samples."""
    return samples * 1000 // SAMPLE_RATE
