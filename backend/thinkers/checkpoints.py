"""Steps of long work: what each came to is kept, so that whoever goes on does not begin again.

A Thinker that may take minutes writes `await work.step("plan", plan)` instead of `await plan()`. In a call the steps
lie in `LocalSteps`, and go with the question when it becomes a background task; there they lie where they outlive
their worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Steps(Protocol):
    """What a piece of work has kept of its own steps. Values are JSON data."""

    @property
    def hurried(self) -> bool:
        """Whether time is short: give the answer that what is there allows."""
        ...

    def kept(self, name: str) -> Any | None:
        """What the step came to when it was last done, or None."""
        ...

    async def keep(self, name: str, value: Any) -> None:
        """Keep what it came to."""
        ...


class LocalSteps:
    """Kept as long as this object is."""

    hurried = False

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})

    def __repr__(self) -> str:
        return f"LocalSteps({', '.join(self.values)})"

    def kept(self, name: str) -> Any | None:
        """See `Steps.kept`."""
        return self.values.get(name)

    async def keep(self, name: str, value: Any) -> None:
        """See `Steps.keep`."""
        self.values[name] = value
