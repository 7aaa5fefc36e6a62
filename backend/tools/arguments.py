"""The arguments of a tool call: read from the model's JSON, and checked, before anything is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from backend.errors import BadRequest


class Arguments(Protocol):
    """What a tool is given, as it must be."""

    def read(self, text: str) -> dict[str, Any]:
        """The values in the model's JSON. Raises `BadRequest`, which names the faults and repeats no value."""
        ...


@dataclass(frozen=True, slots=True)
class ModelArguments:
    """Described by a pydantic model; values come in the types the tool's function asks for."""

    model: type[BaseModel]

    def read(self, text: str) -> dict[str, Any]:
        """See `Arguments`."""
        try:
            filled = self.model.model_validate_json(text.strip() or "{}")
        except ValidationError as error:
            raise BadRequest(_problems_of(error)) from None
        return {name: getattr(filled, name) for name in type(filled).model_fields}


def _problems_of(error: ValidationError) -> str:
    """What is wrong with which argument, without repeating the values."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in problem["loc"]) or "arguments"
        lines.append(f"{where}: {problem['msg']}")
    return "; ".join(lines)
