"""Detects that the parent is gone: its end of our standard input closes, even if it was killed with SIGKILL."""

import os
import threading
import time
from collections.abc import Callable

GRACE_S = 5.0
"""Seconds from the call of `on_gone` to the forced end of the process."""


def when_gone(on_gone: Callable[[], None]) -> None:
    """Call `on_gone`, from another thread, when standard input is closed; end the process `GRACE_S` seconds later."""
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
