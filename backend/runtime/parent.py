"""Notices that the parent is gone: its end of our standard input closes, even when it was killed with SIGKILL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

GRACE_S = 5.0
"""Seconds between asking for the end and ending without asking."""


def when_gone(tell: Callable[[], None]) -> None:
    """Call `tell`, from a thread of its own, once standard input is closed; after a grace the process ends anyhow."""
    threading.Thread(target=_watch, args=(tell,), name="parent-watch", daemon=True).start()


def _watch(tell: Callable[[], None]) -> None:
    while _read():
        pass
    tell()
    time.sleep(GRACE_S)
    os._exit(0)


def _read() -> bytes:
    try:
        return os.read(0, 4096)
    except OSError:
        return b""
