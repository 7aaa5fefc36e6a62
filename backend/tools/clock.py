"""The time, as a service: tools ask for it, tests pass their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """`time` gives Unix time in seconds."""

    time: Callable[[], float] = time.time

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)
