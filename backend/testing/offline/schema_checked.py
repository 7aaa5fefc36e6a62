"""A conversation that passes on only events that fit a schema."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any

from pydantic import ValidationError

from backend.realtime.faults import Fault
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Effect, Send

STRICT = "not_in_the_schema"
"""The code of the `error` event for fields that the schema does not know."""


def beyond(names: Iterable[Any], known: Collection[str]) -> list[str]:
    """Return a complaint about each of the names that is not known."""
    return [f"{name}: it is not known" for name in names if name not in known]


def complaints(error: ValidationError) -> list[str]:
    """Return the complaints of an error, each with its place."""
    return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]


class SchemaCheckedRealtime(Realtime, ABC):
    """Refuses events that do not fit the schema, with an `error` event that says why."""

    @abstractmethod
    def faults(self, event: Any) -> list[str]:
        """Return the faults of a client event; none if it is right."""

    def as_ours(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return a client event in the form of OpenAI's API."""
        return event

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event, or answer it with its faults."""
        if found := self.faults(event if isinstance(event, dict) else {}):
            return self._stamped([Send(Fault("; ".join(found), code=STRICT).event(event))])
        return super().receive(self.as_ours(event))
