"""This module reads the arguments of tools that a JSON Schema describes, not a Python signature."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from backend.errors import BadRequest
from backend.runtime.json_objects import Json

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as SchemaViolation

ReadArguments = Callable[[str], Json]
"""Returns the argument values in the model's JSON. Raises `BadRequest`, which names the problems without any value."""
NOT_CHECKED = frozenset({"pattern", "patternProperties", "format", "$dynamicRef", "$recursiveRef"})
"""Keywords that only the tool's own server checks: a foreign regular expression could block this server for minutes."""
PROBLEMS_LIMIT = 5


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Return why a model cannot fill in this schema; '' if it can."""
    from jsonschema import Draft202012Validator  # imported only here, since it takes a second
    from jsonschema.exceptions import SchemaError

    if schema.get("type") != "object":
        return "its type is not object"
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        return str(getattr(error, "message", error)).partition("\n")[0]
    return ""


def argument_reader(schema: Mapping[str, Any]) -> ReadArguments:
    """Return a check by a foreign JSON Schema, which fetches nothing and runs no regular expression."""
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    checked = without_keywords(schema, lambda keyword, _: keyword in NOT_CHECKED)
    validator = Draft202012Validator(checked, registry=Registry())

    def read(text: str) -> Json:
        try:
            values = json.loads(text.strip() or "{}")
        except (ValueError, RecursionError):
            raise BadRequest("arguments: not valid JSON") from None
        if not isinstance(values, dict):
            raise BadRequest("arguments: must be a JSON object")
        try:
            problems = [_described(problem) for problem in validator.iter_errors(values)]
        except (Unresolvable, RecursionError):
            return values  # This server cannot follow the schema; the tool's own server checks.
        if problems:
            raise BadRequest("; ".join(problems[:PROBLEMS_LIMIT]))
        return values

    return read


def _described(problem: SchemaViolation) -> str:
    """Return the place of a problem and the requirement; jsonschema's own message would repeat the value."""
    where = ".".join(str(part) for part in problem.absolute_path) or "arguments"
    if problem.validator == "required":
        missing = [name for name in problem.validator_value if name not in problem.instance]
        return f"{where}: {', '.join(missing)} missing"
    if problem.validator == "additionalProperties":
        return f"{where}: has properties that are not known"
    return f"{where}: must satisfy {problem.validator} {json.dumps(problem.validator_value, default=str)[:200]}"


def without_keywords(schema: Any, unwanted: Callable[[str, Any], bool]) -> Any:
    """Return a JSON Schema without keywords that are `unwanted(keyword, value)`; properties with such names stay."""
    if isinstance(schema, list):
        return [without_keywords(part, unwanted) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_keywords(part, unwanted) for name, part in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else without_keywords(value, unwanted)
        for key, value in schema.items()
        if not unwanted(key, value)
    }
