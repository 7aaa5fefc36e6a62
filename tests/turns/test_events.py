"""The events of the turn machine: each has a rule."""

from __future__ import annotations

import ast
import inspect

from backend.turns import events, turn


def test_the_machine_has_a_rule_for_every_event() -> None:
    kinds = {kind for kind in vars(events).values() if inspect.isclass(kind) and issubclass(kind, events.Event)}
    bases = {base for kind in kinds for base in kind.__bases__}
    tree = ast.parse(inspect.getsource(turn._dispatch))
    patterns = [node.cls for node in ast.walk(tree) if isinstance(node, ast.MatchClass)]
    handled = {pattern.attr for pattern in patterns if isinstance(pattern, ast.Attribute)}
    handled.add(events.ReplyAudio.__name__)  # by `receive` itself: it settles nothing
    handled |= {"ProviderToolBegun", "ProviderToolEnded"}  # by `call/provider_calls.py`
    assert handled == {kind.__name__ for kind in kinds - bases}
