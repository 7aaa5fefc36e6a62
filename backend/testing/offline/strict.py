"""A peer that refuses what the `openai` package's types do not know: unknown fields above all, at any depth.

The API treats an unknown field as a mistake; the types alone would let it pass. Slower than the plain peer to start
and to serve, so it is only used where a client is to be checked (`--strict`).
"""

from __future__ import annotations

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
    """Return what is wrong with a client event by the package's types; nothing where it is right."""
    return faults_by(TYPES, event)


def faults_by(types: Mapping[str, type[BaseModel]], event: Any) -> list[str]:
    """Return what is wrong with an event by the types of that name."""
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
