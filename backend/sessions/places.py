"""The places for calls on this machine, which all processes of the server share: as many as LOCAL_CALLS says.

A place is a file that is locked as long as a call has it. The system unlocks the files of a process that dies, so no
place is lost with it, and no process has to answer for another.
"""

from __future__ import annotations

import fcntl
import logging
import os
from pathlib import Path

from backend.errors import Overloaded

log = logging.getLogger(__name__)

RETRY_S = 15
"""Seconds after which a caller who found no place may try again."""


class CallPlaces:
    """Places in one folder, on a local disk. `most` 0: any number of calls."""

    def __init__(self, folder: Path, most: int) -> None:
        """Where the folder cannot be written, this process counts alone."""
        self._most = most
        self._taken: dict[str, int | None] = {}
        self._shared = folder if most and _is_writable(folder) else None

    def __repr__(self) -> str:
        return f"CallPlaces({len(self._taken)} taken here, of {self._most or 'any number'})"

    def take(self, call: str) -> None:
        """Take a place for the call of that id. Raises `Overloaded` when calls of this machine have them all."""
        if not self._most:
            return
        if (folder := self._shared) is None:
            if len(self._taken) < self._most:
                self._taken[call] = None
                return
        else:
            for number in range(1, self._most + 1):
                if (descriptor := _locked(folder / f"place-{number}")) is not None:
                    self._taken[call] = descriptor
                    return
        raise Overloaded(
            "All lines are busy.",
            retry_after_s=RETRY_S,
            hint=f"Try again shortly. This machine serves {self._most}: "
            "raise LOCAL_CALLS if it has cores to spare, or add a machine.",
        )

    def free(self, call: str) -> None:
        """Give the place back; nothing happens if the call has none."""
        if (descriptor := self._taken.pop(call, None)) is not None:
            os.close(descriptor)  # and with it the lock


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        os.close(_opened(folder / "place-1"))
    except OSError as error:
        log.warning("LOCAL_CALLS is counted by this process alone: it cannot write %s: %s", folder, error.strerror)
        return False
    return True


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _locked(path: Path) -> int | None:
    """Return the open file, locked, or None if another call has the lock."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
