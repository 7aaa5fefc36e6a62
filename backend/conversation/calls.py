"""The ledger of tool calls: each is answered exactly once, and spoken only while it is still wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CallState(StrEnum):
    """A call's life."""

    RUNNING = "running"
    ANSWERED = "answered"
    """Submitted and fresh, waiting for its reply."""
    SETTLED = "settled"
    """Spoken, stale, or cancelled."""


@dataclass(slots=True)
class Call:
    """One call of the Responder's."""

    call: str
    group: str
    """The reply that asked: calls of one reply are spoken as one answer."""
    turn: int
    """The user's turn it serves."""
    since: float
    state: CallState = CallState.RUNNING
    orphaned: bool = False
    """Its connection is lost: the provider no longer knows the call."""


SETTLED_KEPT = 64
"""Settled calls remembered, so that a repeated id is still recognised."""


class CallLedger:
    """All calls of one conversation."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}

    def __repr__(self) -> str:
        return f"CallLedger({', '.join(f'{c.call}:{c.state}' for c in self._calls.values())})"

    def open(self, call: str, group: str, turn: int, now: float) -> Call | None:
        """Enter a new call; None when this id was seen before."""
        if call in self._calls:
            return None
        self._prune()
        self._calls[call] = Call(call, group, turn, now)
        return self._calls[call]

    def answer(self, call: str) -> Call | None:
        """Mark it answered and return it; None when it is unknown or was answered before."""
        entry = self._calls.get(call)
        if entry is None or entry.state is not CallState.RUNNING:
            return None
        entry.state = CallState.ANSWERED
        return entry

    def running(self, turn: int | None = None) -> list[Call]:
        """Calls still worked on, of one turn or of all."""
        return [c for c in self._calls.values() if c.state is CallState.RUNNING and turn in (None, c.turn)]

    def group_done(self, group: str) -> bool:
        """Whether every call of that reply has its answer."""
        return all(c.state is not CallState.RUNNING for c in self._calls.values() if c.group == group)

    def settle_answered(self) -> list[str]:
        """Answered calls get no further attention: they were spoken, or have gone stale. Returns their ids."""
        settled = [c for c in self._calls.values() if c.state is CallState.ANSWERED]
        for entry in settled:
            entry.state = CallState.SETTLED
        return [entry.call for entry in settled]

    def settle(self, call: str) -> None:
        """This one gets no further attention."""
        self._calls[call].state = CallState.SETTLED

    def orphan_all(self) -> None:
        """The connection that knew them is gone."""
        for entry in self._calls.values():
            entry.orphaned = True

    def _prune(self) -> None:
        settled = [c.call for c in self._calls.values() if c.state is CallState.SETTLED]
        for call in settled[: max(0, len(settled) - SETTLED_KEPT)]:
            del self._calls[call]
