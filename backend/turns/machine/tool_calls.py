"""The ledger of tool calls: each is answered exactly once, and spoken only while it is still wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ToolCallState(StrEnum):
    """The life of a tool call."""

    RUNNING = "running"
    ANSWERED = "answered"
    """Submitted and fresh, waiting for its reply."""
    STALE = "stale"
    """Submitted too late to be spoken; the caller may still ask for it."""
    SETTLED = "settled"
    """Spoken, or cancelled."""


@dataclass(slots=True)
class ToolCallEntry:
    """One tool call of the Responder's."""

    call: str
    group: str
    """The reply that asked: calls of one reply are spoken as one answer."""
    turn: int
    """The user's turn it serves."""
    since: float
    state: ToolCallState = ToolCallState.RUNNING
    orphaned: bool = False
    """The connection of the call is lost: the provider no longer knows it."""
    arguments: str = ""
    """What it asks, as JSON."""


OVER_KEPT = 64
"""Calls remembered that are over: a repeated id is still recognised, and a stale answer can be asked for."""


class ToolCallLedger:
    """The tool calls of one conversation: each is answered exactly once, and spoken only while it is still wanted."""

    def __init__(self) -> None:
        self.entries: dict[str, ToolCallEntry] = {}
        self.asked_for: dict[str, tuple[str, int]] = {}
        """Late answers the caller asked for: call → its output, and the last turn in which it is wanted."""

    def open(self, call: str, group: str, turn: int, now: float) -> ToolCallEntry | None:
        """Enter a new call and return it; None when this id was seen before."""
        if call in self.entries:
            return None
        self._prune()
        self.entries[call] = ToolCallEntry(call, group, turn, now)
        return self.entries[call]

    def answer(self, call: str) -> ToolCallEntry | None:
        """Mark it answered and return it; None when it is unknown or was answered before."""
        entry = self.entries.get(call)
        if entry is None or entry.state is not ToolCallState.RUNNING:
            return None
        entry.state = ToolCallState.ANSWERED
        return entry

    def running(self, turn: int | None = None) -> list[ToolCallEntry]:
        """Return the calls still worked on, of one turn or of all."""
        return [c for c in self.entries.values() if c.state is ToolCallState.RUNNING and turn in (None, c.turn)]

    def supersede(self, turn: int) -> None:
        """Count the running calls of `turn` with the turn before: the caller went on, and all is answered together."""
        for entry in self.running(turn):
            entry.turn = turn - 1

    def states_of(self, group: str) -> set[ToolCallState]:
        """Return the states of all calls of that reply."""
        return {entry.state for entry in self.entries.values() if entry.group == group}

    def move_answered(self, state: ToolCallState) -> list[str]:
        """Move the answered calls on: they are being spoken now (SETTLED), or the caller has not heard them (STALE)."""
        moved = [c for c in self.entries.values() if c.state is ToolCallState.ANSWERED]
        for entry in moved:
            entry.state = state
        return [entry.call for entry in moved]

    def _prune(self) -> None:
        over = [c.call for c in self.entries.values() if c.state in (ToolCallState.STALE, ToolCallState.SETTLED)]
        for call in over[: max(0, len(over) - OVER_KEPT)]:
            del self.entries[call]
