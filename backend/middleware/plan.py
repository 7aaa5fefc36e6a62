"""Finds the steps, fixes their order, and picks those that run in a given turn.

The order is fixed at start-up, over all steps: a cycle, a name twice, or a dependency that does not exist stops the
server there. The steps a turn leaves out (another stage, another mode, not named) only leave gaps in that order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

from backend.errors import BadPlugin
from backend.middleware.base import MiddlewareStep, Stage
from backend.tools.discovery import declared_in, folder_modules, package_modules

PACKAGE = "backend.middleware.steps"
HINT = "Steps are files in backend/middleware/steps and in PLUGIN_FOLDERS; depends_on names other steps."


def ordered(steps: Iterable[MiddlewareStep]) -> tuple[MiddlewareStep, ...]:
    """Sort the steps so that each comes after those it depends on, otherwise by name. Raises `BadPlugin`."""
    steps = sorted(steps, key=lambda step: step.name)
    _check_names(steps)
    by_name = {step.name: step for step in steps}
    for step in steps:
        _check_dependencies(step, by_name)
    sorter = TopologicalSorter({step.name: step.depends_on for step in steps})
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as error:
        path = " → ".join(reversed(error.args[1]))
        raise BadPlugin(f"Steps depend on each other in a circle: {path}.", hint=HINT) from None


def chosen(
    order: Iterable[MiddlewareStep],
    stage: Stage,
    *,
    mode: str,
    domain: str,
    names: Collection[str] | None,
    platform: str = "",
) -> tuple[MiddlewareStep, ...]:
    """Return the steps of one stage that run in this turn, in order.

    With `names`, only those run, and what they depend on. A step's own `modes`, `domains` and `platforms` hold in any
    case.
    """
    order = tuple(order)
    wanted = None if names is None else _with_dependencies(order, names)
    return tuple(
        step
        for step in order
        if step.stage == stage
        and (wanted is None or step.name in wanted)
        and (not step.modes or mode in step.modes)
        and (not step.platforms or platform in step.platforms)
        and (not domain or step.domains is None or domain in step.domains)
    )


def graph_of(steps: Iterable[MiddlewareStep]) -> Mapping[str, tuple[str, ...]]:
    """Return name → the names it waits for among `steps`: a step that does not run is not waited for."""
    steps = tuple(steps)
    there = {step.name for step in steps}
    return {step.name: tuple(name for name in step.depends_on if name in there) for step in steps}


def unknown(order: Iterable[MiddlewareStep], names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that are no steps."""
    known = {step.name for step in order}
    return tuple(name for name in names if name not in known)


def _with_dependencies(order: tuple[MiddlewareStep, ...], names: Collection[str]) -> set[str]:
    wanted = set(names)
    for step in reversed(order):
        if step.name in wanted:
            wanted |= set(step.depends_on)
    return wanted


def _check_names(steps: list[MiddlewareStep]) -> None:
    twice = [name for name, count in Counter(step.name for step in steps).items() if count > 1]
    if twice:
        raise BadPlugin(f"Two steps are called {twice[0]}.", hint=HINT)


def _check_dependencies(step: MiddlewareStep, by_name: Mapping[str, MiddlewareStep]) -> None:
    for name in step.depends_on:
        if name not in by_name:
            raise BadPlugin(
                f"Step {step.name} depends on {name}, which does not exist: {step.name} → {name}.", hint=HINT
            )
        if step.stage == "pre" and by_name[name].stage == "post":
            raise BadPlugin(
                f"Step {step.name} runs before the turn and depends on {name}, which runs after it: "
                f"{step.name} → {name}.",
                hint=HINT,
            )
        if by_name[name].detached and not step.detached:
            raise BadPlugin(
                f"Step {step.name} is waited for and depends on {name}, which is detached: {step.name} → {name}.",
                hint=HINT,
            )


def discover(folders: Iterable[Path] = ()) -> list[MiddlewareStep]:
    """Return all steps there are, in no order. Raises `BadPlugin` on a broken file."""
    modules = [*package_modules(PACKAGE), *(module for folder in folders for module in folder_modules(folder))]
    return [step for module in modules for step in steps_of(module)]


def steps_of(module: ModuleType) -> list[MiddlewareStep]:
    """Return the steps declared in `module` itself, not those it imports."""
    return declared_in(module, "__step__", MiddlewareStep)
