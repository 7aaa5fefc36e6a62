"""The tables of the turn machine: every event has its rules in them, and every state stays small."""

import inspect
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

from backend.turns import events, machine, turn
from backend.turns.machine.barge_in import table as barge_in
from backend.turns.machine.barge_in.state import BargeIn, BargeInState
from backend.turns.machine.floor import table as floor
from backend.turns.machine.floor.state import Floor, FloorState
from backend.turns.machine.pending_turn import table as pending_turn
from backend.turns.machine.pending_turn.state import PendingState, TurnStage
from backend.turns.machine.reply import table as reply
from backend.turns.machine.reply.state import Phase, ReplyState
from backend.turns.machine.tables import Table

TABLES: tuple[Table[Any], ...] = (floor.TABLE, pending_turn.TABLE, barge_in.TABLE, reply.TABLE)
MOST_FIELDS = 15


def test_the_machine_has_a_rule_for_every_event() -> None:
    kinds = {kind for kind in vars(events).values() if inspect.isclass(kind) and issubclass(kind, events.Event)}
    bases = {base for kind in kinds for base in kind.__bases__}
    assert {*turn.ANYTIME, *turn.NO_RULE}.union(*TABLES) == kinds - bases


def test_an_event_with_the_same_rule_in_every_state_is_in_no_table_of_states() -> None:
    assert not {*turn.ANYTIME, *turn.NO_RULE} & set().union(*TABLES)


def test_every_state_of_a_machine_has_a_rule() -> None:
    """A state without rules would be superfluous; only in an ended call nothing happens."""
    for table, states in zip(TABLES, (Floor, TurnStage, BargeIn, Phase), strict=True):
        ruled: set[Any] = {state for rules in table.values() for state in rules}
        assert ruled == set(states)


@pytest.mark.parametrize("state", [FloorState, PendingState, BargeInState, ReplyState])
def test_each_of_the_four_machines_has_a_state_of_at_most_15_fields(state: type[Any]) -> None:
    assert len(fields(state)) <= MOST_FIELDS


def test_no_record_of_the_machine_has_more_fields_than_that() -> None:
    names = [each.name for each in walk_packages(machine.__path__, f"{machine.__name__}.")]
    classes = {each for name in names for each in vars(import_module(name)).values() if inspect.isclass(each)}
    records = [each for each in classes if is_dataclass(each) and each.__module__ in names]
    assert records and [each.__name__ for each in records if len(fields(each)) > MOST_FIELDS] == []
