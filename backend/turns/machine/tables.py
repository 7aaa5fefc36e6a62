"""Tables of rules: what an event does in each state of a machine. In a state without a rule it does nothing."""

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
