"""Finds the steps, fixes their order, and picks those that run in a given turn.

The order is fixed at start-up, over all steps: a cycle, a name twice, or a dependency that does not exist stops the
server there. The steps a turn leaves out (another stage, another mode, not named) only leave gaps in that order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from types import ModuleType

from backend.errors import BadPlugin
from backend.middleware.base import Asked, MiddlewareStep, Stage
from backend.tools.discovery import declared_in, package_modules, watched

PACKAGE = "backend.middleware.steps"
HINT = "Steps are files in backend/middleware/steps and in PLUGIN_FOLDERS; depends_on names other steps."


def ordered(steps: Iterable[MiddlewareStep]) -> tuple[MiddlewareStep, ...]:
    """Sort the steps so that each comes after those it depends on, otherwise by name. Raises `BadPlugin`."""
    steps = sorted(steps, key=lambda step: step.name)
    by_name: dict[str, MiddlewareStep] = {}
    for step in steps:
        if step.name in by_name:
            raise BadPlugin(f"Two steps are called {step.name}.", hint=HINT)
        by_name[step.name] = step
    for step in steps:
        for name in step.depends_on:
            if fault := _dependency_fault(step, name, by_name.get(name)):
                raise BadPlugin(f"Step {step.name} {fault}: {step.name} → {name}.", hint=HINT)
    sorter = TopologicalSorter({step.name: step.depends_on for step in steps})
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as error:
        path = " → ".join(reversed(error.args[1]))
        raise BadPlugin(f"Steps depend on each other in a circle: {path}.", hint=HINT) from None


def chosen(
    order: Sequence[MiddlewareStep], stage: Stage, asked: Asked, names: Collection[str] | None
) -> tuple[MiddlewareStep, ...]:
    """Return the steps of one stage that run in the turn of `asked`, in order.

    With `names`, only those run, and what they depend on. A step's own `modes`, `domains` and `platforms` hold in any
    case.
    """
    wanted = None if names is None else set(names)
    for step in reversed(order):
        if wanted is not None and step.name in wanted:
            wanted |= set(step.depends_on)
    return tuple(
        step
        for step in order
        if step.stage == stage
        and (wanted is None or step.name in wanted)
        and (not step.modes or asked.mode in step.modes)
        and (not step.platforms or asked.platform in step.platforms)
        and (not asked.domain or step.domains is None or asked.domain in step.domains)
    )


def graph_of(steps: Collection[MiddlewareStep]) -> Mapping[str, tuple[str, ...]]:
    """Return name → the names it waits for among `steps`: a step that does not run is not waited for."""
    there = {step.name for step in steps}
    return {step.name: tuple(name for name in step.depends_on if name in there) for step in steps}


def _dependency_fault(step: MiddlewareStep, name: str, needed: MiddlewareStep | None) -> str:
    if needed is None:
        return f"depends on {name}, which does not exist"
    if step.stage == "pre" and needed.stage == "post":
        return f"runs before the turn and depends on {name}, which runs after it"
    if needed.detached and not step.detached:
        return f"is waited for and depends on {name}, which is detached"
    return ""


def discover(further: Iterable[ModuleType] = ()) -> list[MiddlewareStep]:
    """Return all steps there are, in no order, those in `further` modules, too. Raises `BadPlugin`."""
    return [step for module in (*package_modules(PACKAGE), *further) for step in steps_of(module)]


def steps_of(module: ModuleType) -> list[MiddlewareStep]:
    """Return the steps declared in `module` itself, not those it imports."""
    declared = declared_in(module, "__step__", MiddlewareStep)
    return [replace(step, function=watched(module, step.function)) for step in declared]
