"""A conversation that only gets what a schema knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from backend.realtime.faults import Fault
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Effect, Send

STRICT = "not_in_the_schema"
"""The code of the `error` event that answers what the schema does not know."""


class HeldRealtime(Realtime, ABC):
    """Refuses what is not in the schema with an `error` event that says what is wrong with it."""

    @abstractmethod
    def faults(self, event: Any) -> list[str]:
        """Return what is wrong with a client event; nothing where it is right."""

    def as_ours(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return a client event as OpenAI's API has it."""
        return event

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event that is right."""
        if found := self.faults(event):
            return self._stamped([Send(Fault("; ".join(found), code=STRICT).event(event))])
        return super().receive(self.as_ours(event))
