"""Finds the steps: every `@step` function of every module in `steps/`, and of extra folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from backend.middleware.base import Step
from backend.tools.discovery import folder_modules, package_modules

PACKAGE = "backend.middleware.steps"


def discover(folders: Iterable[Path] = ()) -> list[Step]:
    """All steps there are, in no order. Raises `BadPlugin` on a broken file."""
    modules = [*package_modules(PACKAGE), *(module for folder in folders for module in folder_modules(folder))]
    return [step for module in modules for step in steps_of(module)]


def steps_of(module: ModuleType) -> list[Step]:
    """The steps declared in `module` itself, not those it imports."""
    declared = (
        getattr(value, "__step__", None)
        for value in vars(module).values()
        if getattr(value, "__module__", None) == module.__name__
    )
    return [step for step in declared if isinstance(step, Step)]
