"""Tables of rules: what an event does in each state of a machine; in an empty cell, it does nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from backend.turns.events import Event
from backend.turns.machine.state import State

E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=Enum)

Rule = Callable[[State, E, float], None]
Table = Mapping[type[Event], Mapping[S, Rule[Any]]]
"""Event → state of the machine → rule."""
Row = tuple[type[Event], Mapping[S, Rule[Any]]]


def on(event: type[E], rules: Mapping[S, Rule[E]]) -> Row[S]:
    """Return the row of `event`: its rule by state, in some of the states."""
    return event, rules


def always(event: type[E], states: type[S], rule: Rule[E]) -> Row[S]:
    """Return the row of an event that has one rule in all `states`."""
    return event, dict.fromkeys(states, rule)
