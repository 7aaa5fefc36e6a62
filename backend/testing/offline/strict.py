"""A peer that refuses events which do not fit the `openai` package's types: above all unknown fields, at any depth.

The API treats an unknown field as a mistake; the types alone would let it pass. This peer is slower to start and to
serve than the plain one, so it is only used to check a client (`--strict`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec
from openai.types.realtime import RealtimeClientEvent
from pydantic import BaseModel, ValidationError

from backend.testing.offline.schema_checked import SchemaCheckedRealtime, complaints

TYPES: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(RealtimeClientEvent)[0])
}
"""The client events by their type."""


def faults(event: Any) -> list[str]:
    """Return the faults of a client event by the package's types; none if it is right."""
    return faults_by(TYPES, event)


def faults_by(types: Mapping[str, type[BaseModel]], event: Any) -> list[str]:
    """Return the faults of an event by `types`, which has the type of each event by name."""
    kind = types.get(event.get("type", "")) if isinstance(event, dict) else None
    if kind is None:
        return ["type: no client event has this one"]
    try:
        parsed = kind.model_validate_json(msgspec.json.encode(event), strict=True)
    except ValidationError as error:
        return complaints(error)
    return [f"{path}: unknown field" for path in _unknown(parsed, "")]


def _unknown(value: Any, at: str) -> Iterator[str]:
    """Yield the paths of fields that the types do not have."""
    match value:
        case BaseModel():
            yield from (f"{at}{name}" for name in value.model_extra or ())
            for name in type(value).model_fields:
                yield from _unknown(getattr(value, name), f"{at}{name}.")
        case list():
            for number, each in enumerate(value):
                yield from _unknown(each, f"{at}{number}.")


class StrictRealtime(SchemaCheckedRealtime):
    """A conversation that passes on only events that fit the types."""

    def faults(self, event: Any) -> list[str]:
        return faults(event)
