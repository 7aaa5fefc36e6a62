"""A temporary folder for what a model is loaded from: 280 MB, which a killed process would leave for good."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "local-responder-"
LOCK = "in-use"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder that is removed after the block, and remove those of processes that were killed in theirs."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        _remove_unused(left)
    making = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
    with making as name, (Path(name) / LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _remove_unused(lock: Path) -> None:
    """Remove the lock's folder unless a living process holds the lock, or it is another user's."""
    with suppress(OSError), lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)
