"""A folder for the files of a model that is being loaded. What killed processes left is deleted.

A process that is killed while it loads cannot clean up, and its files are 400 MB. So each holds a lock on its folder
until it ends, and a later process deletes the folders without a lock.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "responder-thinker-model-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, which is deleted after the block."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, _locked(Path(name)):
        yield Path(name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock within the block. Raises `OSError` if another process holds it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
