"""The store of recordings begins, lists, reads, expires and erases them, as files in a folder of each owner.

    recordings/{hash of the user's id}/{id}.ogg      the sound (left: the caller, right: the assistant)
                                       {id}.jsonl    the journal: the call, and each utterance with its time

A folder is found only by its owner's id, and no file name comes from outside. Threads access the files, since a disk
may be slow.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from backend.errors import NotFound, PeerError
from backend.extensions.recordings.journal import EndReason, Journal, RecordingBegin, RecordingEnd, read_journal
from backend.extensions.recordings.ogg import duration_ms
from backend.extensions.recordings.writer import ActiveRecording, RecordingWriter
from backend.runtime.json_objects import Json

SWEEP_EVERY_S = 300.0
"""Seconds between two sweeps."""
SETTLE_WITHIN_S = 3.0
"""Seconds that a recording under way may take to end before it is deleted."""
ID = re.compile(r"[A-Za-z0-9_-]{16}")
LISTED = 500
"""The most recordings in one user's list; the newest are shown."""
T = TypeVar("T")


class RecordingsUnavailable(PeerError):
    """The folder of recordings cannot be read or written."""

    hint = "Try again in a moment. If it keeps failing, the operator should check the disk."


@dataclass(frozen=True, slots=True)
class StoredRecording:
    """One recording, as its owner has it."""

    journal: Journal
    end: RecordingEnd
    """The last line of the recording, or a substitute if it has none."""
    audio: Path
    size: int
    """Bytes of its sound."""
    expires_at: float | None
    """Unix time; None: never."""

    def shown(self) -> Json:
        """Return the recording as a list shows it."""
        state = "recording" if self.journal.running else self.end.reason
        begin: Json = msgspec.to_builtins(self.journal.begin)
        more = {"state": state, "duration_ms": self.end.duration_ms, "bytes": self.size, "expires_at": self.expires_at}
        return begin | more

    def with_words(self) -> Json:
        """Return the recording with its words and their times."""
        return {**self.shown(), "utterances": self.journal.said(), "gaps": self.journal.gaps}


class RecordingStore:
    """The recordings in one folder. Methods that touch files may raise `RecordingsUnavailable`."""

    def __init__(
        self, folder: Path, limit: int = 0, *, keep_s: float | None, clock: Callable[[], float] = time.time
    ) -> None:
        """At most `limit` bytes are kept; 0: no limit. Recordings expire `keep_s` seconds after their end; None: never.
        `clock` gives Unix time.
        """
        self._folder = folder
        self._keep_s = keep_s
        self._clock = clock
        self.writer = RecordingWriter(limit)

    def begin(
        self, owner: str, conversation_id: str, session_id: str, on_end: Callable[[EndReason], object]
    ) -> ActiveRecording:
        """Begin a recording. Returns immediately; `on_end` is called if it ends by itself."""
        begin = RecordingBegin(secrets.token_urlsafe(12), conversation_id, session_id, self._clock())
        recording = ActiveRecording(begin, self._folder_of(owner))
        self.writer.begin(recording, on_end)
        return recording

    # --- an owner's recordings ------------------------------------------------------------------------

    async def all_of(self, owner: str) -> list[StoredRecording]:
        """Return the owner's recordings, the newest first."""
        return await self._in_thread(self._all_in, self._folder_of(owner))

    async def find(self, owner: str, recording_id: str) -> StoredRecording:
        """Return one of the owner's recordings. Raises `NotFound`."""
        if ID.fullmatch(recording_id):
            path = self._folder_of(owner) / f"{recording_id}.jsonl"
            if (found := await self._in_thread(self._read, path)) is not None:
                return found
        raise no_recording()

    async def delete(self, owner: str, recording_id: str) -> None:
        """Delete one of the owner's recordings; one under way ends. Raises `NotFound`."""
        folder = self._folder_of(owner)
        if recording_id not in [each.begin.id for each in self._active_in(folder)]:
            await self.find(owner, recording_id)
        await self._drop([recording_id], folder)

    async def forget_conversation(self, owner: str, conversation_id: str, /) -> None:
        """Delete the recordings of a conversation."""
        folder = self._folder_of(owner)
        begun = [each.begin for each in self._active_in(folder)]
        begun += [each.journal.begin for each in await self._in_thread(self._all_in, folder)]
        await self._drop([begin.id for begin in begun if begin.conversation_id == conversation_id], folder)

    # --- as a store of user data ----------------------------------------------------------------------

    async def export(self, user_id: str, /) -> object:
        """Return every recording with its words and the address of its sound."""
        kept = await self.all_of(user_id)
        return [each.with_words() | {"audio": f"/api/recordings/{each.journal.begin.id}/audio"} for each in kept]

    async def erase(self, user_id: str, /) -> None:
        """Delete everything recorded of a user; recordings under way end."""
        await self._drop(None, self._folder_of(user_id))

    # --- retention ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Sweep at intervals: delete expired recordings, and count the rest."""
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_EVERY_S)

    async def sweep(self) -> None:
        """Delete expired recordings, and count the rest, once."""
        kept = await self.writer.in_turn(self._sweep)
        self.writer.kept_bytes = kept - sum(_bytes_of(each.audio_path) for each in self.writer.active)

    def _sweep(self) -> int:
        """Delete what has expired or holds no sound, unless it is being recorded; return the bytes of the rest."""
        kept = 0
        for folder in self._folder.glob("*/"):
            for path in folder.glob("*.jsonl"):
                recording = self._load(path)
                if recording is not None and (recording.journal.running or self._is_kept(recording)):
                    kept += recording.size
                elif recording is not None or _is_old(path):
                    _unlink(path)
            _remove_if_empty(folder)
        return kept

    def _is_kept(self, recording: StoredRecording) -> bool:
        """Return whether a recording that has ended holds sound, and has not expired."""
        expired = recording.expires_at is not None and recording.expires_at < self._clock()
        return not expired and recording.end.duration_ms > 0

    # --- files ----------------------------------------------------------------------------------------

    def _folder_of(self, owner: str) -> Path:
        return self._folder / hashlib.sha256(owner.encode()).hexdigest()[:32]

    def _active_in(self, folder: Path) -> list[ActiveRecording]:
        return [each for each in self.writer.active if each.folder == folder]

    def _all_in(self, folder: Path) -> list[StoredRecording]:
        found = [each for path in folder.glob("*.jsonl") if (each := self._read(path)) is not None]
        return sorted(found, key=lambda each: -each.journal.begin.at)[:LISTED]

    def _read(self, path: Path) -> StoredRecording | None:
        """Return a recording; None for one that does not exist, or has expired."""
        found = self._load(path)
        if found is None or (found.expires_at is not None and found.expires_at < self._clock()):
            return None
        return found

    def _load(self, path: Path) -> StoredRecording | None:
        """Return a recording, even one that a killed process has left; None if it cannot be read."""
        journal, audio = read_journal(path), path.with_suffix(".ogg")
        if journal is None:
            return None
        end = journal.end or RecordingEnd("cut", duration_ms(audio))
        ended_at = journal.begin.at + end.duration_ms / 1000
        expires_at = None if self._keep_s is None or journal.running else ended_at + self._keep_s
        return StoredRecording(journal, end, audio, _bytes_of(audio), expires_at)

    async def _drop(self, ids: list[str] | None, folder: Path) -> None:
        """Delete the recordings of these ids in a folder; None: everything in it."""
        active = [each for each in self._active_in(folder) if ids is None or each.begin.id in ids]
        for each in active:
            each.end("stopped")
        if not await self.writer.settle(active, SETTLE_WITHIN_S):
            raise RecordingsUnavailable(
                "A recording could not be stopped in time.", hint="Delete it again in a moment."
            )
        await self._in_thread(self._unlink_in, folder, ids)

    def _unlink_in(self, folder: Path, ids: list[str] | None) -> None:
        for path in folder.glob("*.jsonl"):
            if ids is None or path.stem in ids:
                self.writer.kept_bytes -= _bytes_of(path.with_suffix(".ogg"))
                _unlink(path)
        _remove_if_empty(folder)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return await asyncio.to_thread(work, *arguments)
        except OSError as error:
            raise RecordingsUnavailable(f"The folder of recordings cannot be used ({type(error).__name__}).") from error


def no_recording() -> NotFound:
    """Return the answer to requests for recordings that do not exist, or belong to another user."""
    return NotFound("No such recording.", hint="It may have expired, or been deleted.")


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_old(journal: Path) -> bool:
    """Return whether a journal is older than one that was begun just now and has no first line yet."""
    with suppress(OSError):
        return time.time() - journal.stat().st_mtime > SWEEP_EVERY_S
    return False


def _unlink(journal: Path) -> None:
    """Delete a recording; its journal goes last, so that an interrupted deletion is repeated."""
    journal.with_suffix(".ogg").unlink(missing_ok=True)
    journal.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
