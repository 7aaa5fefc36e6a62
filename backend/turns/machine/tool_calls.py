"""The ledger of a conversation's tool calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ToolCallState(StrEnum):
    """The life of a tool call."""

    RUNNING = "running"
    ANSWERED = "answered"
    """The answer is submitted and waits for the reply that speaks it."""
    STALE = "stale"
    """The answer came late, or was not heard before a new turn; the caller may ask for it."""
    SETTLED = "settled"
    """The answer was spoken, or the call was cancelled."""


@dataclass(slots=True)
class ToolCallEntry:
    """One tool call of the Responder."""

    call: str
    group: str
    """The reply that made the call: all calls of a reply are spoken as one answer."""
    turn: int
    """The number of the caller's turn that the call serves."""
    since: float
    state: ToolCallState = ToolCallState.RUNNING
    orphaned: bool = False
    """The connection of the call is lost: the provider no longer knows it."""
    arguments: str = ""
    """The arguments of the call, as JSON."""


OVER_KEPT = 64
"""The number of past calls that are remembered, to recognise a repeated id and to speak a stale answer on request."""


class ToolCallLedger:
    """The tool calls of one conversation: each is answered exactly once, and spoken only while it is still wanted."""

    def __init__(self) -> None:
        self.entries: dict[str, ToolCallEntry] = {}
        self.asked_for: dict[str, tuple[str, int]] = {}
        """The late answers that the caller asked for: call → output, and the last turn in which it is wanted."""

    def open(self, call: str, group: str, turn: int, now: float) -> ToolCallEntry | None:
        """Enter a new call and return it; return None if its id was seen before."""
        if call in self.entries:
            return None
        self._prune()
        self.entries[call] = ToolCallEntry(call, group, turn, now)
        return self.entries[call]

    def answer(self, call: str) -> ToolCallEntry | None:
        """Mark a running call as answered and return it; return None if it is unknown or was answered before."""
        entry = self.entries.get(call)
        if entry is None or entry.state is not ToolCallState.RUNNING:
            return None
        entry.state = ToolCallState.ANSWERED
        return entry

    def running(self, turn: int | None = None) -> list[ToolCallEntry]:
        """Return the running calls of one turn; of all turns by default."""
        return [c for c in self.entries.values() if c.state is ToolCallState.RUNNING and turn in (None, c.turn)]

    def supersede(self, turn: int) -> None:
        """Move the running calls of `turn` to the turn before: a new answer to `turn` does not wait for them."""
        for entry in self.running(turn):
            entry.turn = turn - 1

    def states_of(self, group: str) -> set[ToolCallState]:
        """Return the states of all calls of the reply `group`."""
        return {entry.state for entry in self.entries.values() if entry.group == group}

    def move_answered(self, state: ToolCallState) -> list[str]:
        """Move the answered calls on: to SETTLED if they are being spoken, to STALE if they were not heard."""
        moved = [c for c in self.entries.values() if c.state is ToolCallState.ANSWERED]
        for entry in moved:
            entry.state = state
        return [entry.call for entry in moved]

    def _prune(self) -> None:
        over = [c.call for c in self.entries.values() if c.state in (ToolCallState.STALE, ToolCallState.SETTLED)]
        for call in over[: max(0, len(over) - OVER_KEPT)]:
            del self.entries[call]
