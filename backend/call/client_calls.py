"""The tool calls that the caller's program carries out itself: one that it never answers fails by and by."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backend.conversation import events as ev

ANSWER_WITHIN_S = 120.0
"""Seconds a program has to carry out a tool call."""
LATE = "the tool has not answered in time"


class ClientCalls:
    """The calls of one voice call that its program was given; `dispatch` takes the failure of one that is overdue.

    The turn machine ignores the failure of a call that was answered.
    """

    def __init__(self, dispatch: Callable[[ev.Event], None], within_s: float = ANSWER_WITHIN_S) -> None:
        self._dispatch = dispatch
        self._within_s = within_s
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def __repr__(self) -> str:
        return f"ClientCalls({len(self._timers)} given)"

    def wait(self, call: str) -> None:
        """Wait for the answer to a tool call from now on."""
        loop = asyncio.get_running_loop()
        self._timers[call] = loop.call_later(self._within_s, self._fail, call)

    def close(self) -> None:
        """Wait for nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _fail(self, call: str) -> None:
        del self._timers[call]
        self._dispatch(ev.ThinkerFailed(call, LATE))
