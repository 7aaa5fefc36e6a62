"""Names the plugins that hold the event loop: everything else, the audio of every call included, waits meanwhile.

    think = watch_blocking(think, "plugins/moon.py")

A coroutine runs on the event loop from one pause of its own to the next; each such stretch is measured. On a machine
that is too busy to run the server one may be long without the plugin's doing.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, ParamSpec, TypeVar

from prometheus_client import Counter

log = logging.getLogger(__name__)

BLOCKED_S = 0.1
"""Seconds from which a stretch is too long."""
BLOCKED = Counter(
    "voice_plugin_blocked",
    "Times a plugin held the event loop for over 100 ms, by its file.",
    ["plugin"],
    registry=None,
)

P = ParamSpec("P")
T = TypeVar("T")


def watch_blocking(function: Callable[P, Awaitable[T]], plugin: str) -> Callable[P, Awaitable[T]]:
    """Return `function` with its long stretches logged and counted under the name `plugin`."""

    @functools.wraps(function)
    async def watched(*args: P.args, **kwargs: P.kwargs) -> T:
        made = function(*args, **kwargs)
        return await _Watched(made, plugin) if isinstance(made, Coroutine) else await made

    return watched


class _Watched:
    """A coroutine that is passed on step by step."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], plugin: str) -> None:
        self._coroutine = coroutine
        self._plugin = plugin

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = functools.partial(self._coroutine.send, None)
        while True:
            began = time.perf_counter()
            try:
                waits_for = step()
            except StopIteration as stop:
                return stop.value
            finally:
                self._note(time.perf_counter() - began)
            try:
                sent = yield waits_for
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's, which may be cancelled
                step = functools.partial(self._coroutine.throw, error)
            else:
                step = functools.partial(self._coroutine.send, sent)

    def _note(self, seconds: float) -> None:
        if seconds >= BLOCKED_S:
            BLOCKED.labels(self._plugin).inc()
            log.warning("%s held the event loop for %.0f ms: every call waited.", self._plugin, seconds * 1000)
