"""The ledger of tool calls: each is answered exactly once, and spoken only while it is still wanted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CallState(StrEnum):
    """A call's life."""

    RUNNING = "running"
    ANSWERED = "answered"
    """Submitted and fresh, waiting for its reply."""
    STALE = "stale"
    """Submitted too late to be spoken; the caller may still ask for it."""
    SETTLED = "settled"
    """Spoken, or cancelled."""


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


OVER = (CallState.STALE, CallState.SETTLED)
OVER_KEPT = 64
"""Calls remembered that are over: a repeated id is still recognised, and a stale answer can be asked for."""


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
        """Answered calls get no further attention: they are being spoken. Returns their ids."""
        return self._move_answered(CallState.SETTLED)

    def lapse_answered(self) -> list[str]:
        """Answered calls have gone stale unspoken. Returns their ids."""
        return self._move_answered(CallState.STALE)

    def lapse(self, call: str) -> None:
        """This one came too late."""
        self._calls[call].state = CallState.STALE

    def is_stale(self, call: str) -> bool:
        """Whether it was answered, and nobody has heard the answer."""
        return call in self._calls and self._calls[call].state is CallState.STALE

    def has_answers(self, group: str) -> bool:
        """Whether a call of that reply has an answer that is still to be spoken."""
        return any(c.state is CallState.ANSWERED for c in self._calls.values() if c.group == group)

    def settle(self, call: str) -> None:
        """This one gets no further attention."""
        self._calls[call].state = CallState.SETTLED

    def orphan_all(self) -> None:
        """The connection that knew them is gone."""
        for entry in self._calls.values():
            entry.orphaned = True

    def _move_answered(self, state: CallState) -> list[str]:
        moved = [c for c in self._calls.values() if c.state is CallState.ANSWERED]
        for entry in moved:
            entry.state = state
        return [entry.call for entry in moved]

    def _prune(self) -> None:
        over = [c.call for c in self._calls.values() if c.state in OVER]
        for call in over[: max(0, len(over) - OVER_KEPT)]:
            del self._calls[call]
