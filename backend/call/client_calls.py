"""The tool calls that the caller's program carries out itself; a call without an answer fails after a time limit."""

import asyncio
from collections.abc import Callable

from backend.turns import events as ev
from backend.turns.commands import RunThinker

ANSWER_WITHIN_S = 120.0
"""Seconds in which a program has to answer a tool call."""
LATE = "the tool has not answered in time"


class ClientCalls:
    """The tool calls that one call's program carries out; `dispatch` gets the failure of each that is overdue.

    The turn machine ignores the failure of a call that was answered.
    """

    def __init__(self, dispatch: Callable[[ev.Event], None]) -> None:
        self._dispatch = dispatch
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def run(self, command: RunThinker) -> None:
        """Start the time limit of a tool call."""
        loop = asyncio.get_running_loop()
        self._timers[command.call] = loop.call_later(ANSWER_WITHIN_S, self._fail, command.call)

    def cancel(self, call: str) -> None:
        """Stop the time limit of a tool call."""
        if timer := self._timers.pop(call, None):
            timer.cancel()

    def close(self) -> None:
        """Stop all time limits."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _fail(self, call: str) -> None:
        del self._timers[call]
        self._dispatch(ev.ThinkerFailed(call, LATE))
