"""The tool calls that the caller's program carries out itself: one that it never answers fails by and by."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backend.turns import events as ev
from backend.turns.commands import RunThinker

ANSWER_WITHIN_S = 120.0
"""Seconds a program has to carry out a tool call."""
LATE = "the tool has not answered in time"


class ClientCalls:
    """The calls of one voice call that its program was given; `dispatch` takes the failure of one that is overdue.

    The turn machine ignores the failure of a call that was answered.
    """

    def __init__(self, dispatch: Callable[[ev.Event], None]) -> None:
        self._dispatch = dispatch
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def run(self, command: RunThinker) -> None:
        """Wait for the answer to a tool call from now on."""
        loop = asyncio.get_running_loop()
        self._timers[command.call] = loop.call_later(ANSWER_WITHIN_S, self._fail, command.call)

    def cancel(self, call: str) -> None:
        """Wait for an answer no longer."""
        if timer := self._timers.pop(call, None):
            timer.cancel()

    def close(self) -> None:
        """Stop waiting."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _fail(self, call: str) -> None:
        del self._timers[call]
        self._dispatch(ev.ThinkerFailed(call, LATE))
