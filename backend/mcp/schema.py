"""The arguments of another server's tool, which describes them by a JSON Schema of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as SchemaViolation
from referencing import Registry
from referencing.exceptions import Unresolvable

from backend.errors import BadRequest
from backend.tools.base import Json

NOT_CHECKED = frozenset({"pattern", "patternProperties", "format", "$dynamicRef", "$recursiveRef"})
"""Keywords left to the tool's own server: a stranger's regular expression could hold up ours for minutes."""
PROBLEMS_TOLD = 5


@dataclass(frozen=True)
class SchemaArguments:
    """Described by a JSON Schema that came from elsewhere: nothing is fetched for it, and no expression is run."""

    schema: Json

    def read(self, text: str) -> Json:
        """See `Arguments`."""
        try:
            values = json.loads(text.strip() or "{}")
        except (ValueError, RecursionError):
            raise BadRequest("arguments: not valid JSON") from None
        if not isinstance(values, dict):
            raise BadRequest("arguments: must be a JSON object")
        try:
            problems = [_told(problem) for problem in self._validator.iter_errors(values)]
        except (Unresolvable, RecursionError):
            return values  # a schema we cannot follow: its server checks
        if problems:
            raise BadRequest("; ".join(problems[:PROBLEMS_TOLD]))
        return values

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(_harmless(self.schema), registry=Registry())


def _harmless(schema: Any) -> Any:
    """The schema without the keywords that are not checked here; properties of those names stay."""
    if isinstance(schema, list):
        return [_harmless(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _harmless(part) for name, part in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else _harmless(value)
        for key, value in schema.items()
        if key not in NOT_CHECKED
    }


def _told(problem: SchemaViolation) -> str:
    """Where it is wrong and what was asked for: jsonschema's own message would repeat the value."""
    where = ".".join(str(part) for part in problem.absolute_path) or "arguments"
    if problem.validator == "required":
        missing = [name for name in problem.validator_value if name not in problem.instance]
        return f"{where}: {', '.join(missing)} missing"
    if problem.validator == "additionalProperties":
        return f"{where}: has properties that are not known"
    return f"{where}: must satisfy {problem.validator} {json.dumps(problem.validator_value, default=str)[:200]}"
