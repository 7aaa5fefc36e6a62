"""A recording's journal holds everything but the sound, one line of JSON for each event, in order.

    {"begin": {…}}       the call, and when
    {"utterance": {…}}   what was said, and when; of several lines about one item the last counts
    {"gap": [from, to]}  milliseconds in which sound was lost, since the writer was too slow
    {"end": {…}}         the reason for its end, and its length

A process that is killed leaves a journal without its last lines, which can still be read. The journal is locked
while it is written. A journal without an end and without a lock was cut.
"""

import fcntl
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from backend.extensions.recordings.utterances import RecordedUtterance
from backend.runtime.faults import decode_all

EndReason = Literal["stopped", "call_ended", "full", "failed", "cut"]
"""The reason for an end. `full`: no room; `failed`: a write failed; `cut`: a process died."""


class RecordingBegin(msgspec.Struct, frozen=True):
    """The first line."""

    id: str
    conversation_id: str
    session_id: str
    at: float
    """The beginning of the recording, in Unix time."""


class RecordingEnd(msgspec.Struct, frozen=True):
    """The last line."""

    reason: EndReason
    duration_ms: int


class JournalLine(msgspec.Struct, omit_defaults=True):
    """One line, which has exactly one of these fields."""

    begin: RecordingBegin | None = None
    utterance: RecordedUtterance | None = None
    gap: tuple[int, int] | None = None
    end: RecordingEnd | None = None


@dataclass(slots=True)
class Journal:
    """The contents of a journal."""

    begin: RecordingBegin
    utterances: dict[str, RecordedUtterance] = field(default_factory=dict)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    end: RecordingEnd | None = None
    running: bool = False
    """True while the journal is being written."""

    def said(self) -> list[RecordedUtterance]:
        """Return the utterances, in the order in which they began."""
        return sorted(self.utterances.values(), key=lambda each: (each["from_ms"], each["to_ms"]))


class JournalWriter:
    """A journal being written. Every method may raise `OSError`."""

    def __init__(self, path: Path) -> None:
        """Create the file, readable only by its owner, and lock it."""
        path.touch(mode=0o600)
        self._file: BinaryIO = path.open("ab", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX)  # readers hold it for a moment
        self._encoder = msgspec.json.Encoder()

    def write(self, *lines: JournalLine) -> None:
        """Append lines."""
        if lines:
            self._file.write(b"".join(self._encoder.encode(line) + b"\n" for line in lines))

    def close(self) -> None:
        """Release the file and its lock."""
        self._file.close()


_decoder = msgspec.json.Decoder(JournalLine)


def read_journal(path: Path) -> Journal | None:
    """Return a journal; None for one that is gone, or has an unreadable first line."""
    try:
        with path.open("rb") as file:
            running = not _can_lock(file)
            lines = decode_all("line of a recording", file.read().splitlines(), _decoder.decode)
    except OSError:
        return None
    if not lines or lines[0].begin is None:
        return None
    journal = Journal(lines[0].begin, running=running)
    for line in lines[1:]:
        if line.utterance is not None:
            journal.utterances[line.utterance["item_id"]] = line.utterance
        elif line.gap is not None:
            journal.gaps.append(line.gap)
        elif line.end is not None:
            journal.end = line.end
    return journal


def _can_lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
