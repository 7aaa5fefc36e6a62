"""Small steps and pipelines to test with."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.middleware.base import MiddlewareStep, step
from backend.middleware.pipeline import Pipeline


def declared(*functions: Any) -> list[MiddlewareStep]:
    """The steps that these `@step` functions declare."""
    return [function.__step__ for function in functions]


def pipeline(*functions: Any, services: Mapping[Any, Any] | None = None, **more: Any) -> Pipeline:
    """A pipeline of these `@step` functions."""
    return Pipeline(declared(*functions), services, **more)


def bare(name: str, depends_on: Sequence[str] = (), stage: Any = "pre", **more: Any) -> MiddlewareStep:
    """A step that does nothing."""

    async def function() -> None:
        return None

    steps = declared(step(name, stage=stage, depends_on=depends_on, **more)(function))
    return steps[0]
