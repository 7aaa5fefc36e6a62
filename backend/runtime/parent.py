"""Notices that the parent is gone: its end of our standard input closes, even when it was killed with SIGKILL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

GRACE_S = 5.0
"""Seconds between asking for the end and ending without asking."""


def when_gone(on_gone: Callable[[], None]) -> None:
    """Call `on_gone`, from a thread of its own, once standard input is closed; after a grace the process ends."""
    threading.Thread(target=_watch, args=(on_gone,), name="parent-watch", daemon=True).start()


def _watch(on_gone: Callable[[], None]) -> None:
    while _read():
        pass
    on_gone()
    time.sleep(GRACE_S)
    os._exit(0)


def _read() -> bytes:
    try:
        return os.read(0, 4096)
    except OSError:
        return b""
