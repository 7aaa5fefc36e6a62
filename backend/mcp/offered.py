"""Another server's tools, made ours: named, described, checked and bounded like any other. Pure.

What a server says of its tools is its own word: names are made to fit, descriptions cut, and a tool whose schema cannot
be used is left out. Only where it makes us more careful is it believed: a tool that calls itself destructive needs
consent.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from mcp_types import CallToolResult, TextContent
from mcp_types import Tool as Listed

from backend.errors import ToolFailed
from backend.mcp.schema import SchemaArguments
from backend.settings.mcp import McpServerEntry
from backend.tools.base import Json, Result, Tool

log = logging.getLogger(__name__)

NAME_LIMIT = 64
"""Characters model APIs take for a function's name."""
DESCRIPTION_LIMIT = 1_000
SCHEMA_LIMIT = 16_000
"""Characters of JSON a schema may have: it is sent with every request to a model."""
TOOLS_LIMIT = 100
"""Tools taken from one server."""
ERROR_LIMIT = 500
"""Characters of what a server says went wrong."""

Call = Callable[[str, Json], Awaitable[CallToolResult]]
"""(The server's own name for the tool, arguments) → what came of it. Raises `ToolFailed`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where tools come from, and how they may be used."""

    server: str
    entry: McpServerEntry
    call: Call


def tools_of(origin: Origin, listed: Iterable[Listed]) -> dict[str, Tool]:
    """Those that are wanted and can be used, by our names for them."""
    tools: dict[str, Tool] = {}
    wanted = origin.entry.tools
    for each in listed:
        if wanted is not None and each.name not in wanted:
            continue
        name = our_name(origin.server, each.name)
        if name in tools or len(tools) == TOOLS_LIMIT or not usable(each.input_schema):
            log.warning("a tool of %s is left out: its schema cannot be used, or there are too many", origin.server)
            continue
        tools[name] = _tool(origin, name, each)
    return tools


def our_name(server: str, tool: str) -> str:
    """`{server}__{tool}`, in the letters and the length that model APIs take."""
    name = f"{server}__{re.sub(r'[^A-Za-z0-9_-]', '_', tool)}"
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 9]}_{hashlib.sha256(tool.encode()).hexdigest()[:8]}"


def usable(schema: Mapping[str, Any]) -> bool:
    """Whether a model can be told to fill this in."""
    if schema.get("type") != "object" or len(json.dumps(schema, default=str)) > SCHEMA_LIMIT:
        return False
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


def _tool(origin: Origin, name: str, listed: Listed) -> Tool:
    entry = origin.entry

    async def function(**values: Any) -> Result:
        return result_of(await origin.call(listed.name, values))

    destructive = listed.annotations is not None and listed.annotations.destructive_hint is True
    named = entry.confirm if isinstance(entry.confirm, bool) else listed.name in entry.confirm
    return Tool(
        name=name,
        description=(listed.description or listed.title or listed.name)[:DESCRIPTION_LIMIT],
        function=function,
        arguments=SchemaArguments(listed.input_schema),
        parameters={"properties": {}} | listed.input_schema,
        requires_auth=entry.requires_auth,
        confirm=named or destructive,
        cache=False,
        clients=frozenset(entry.clients),
        source=origin.server,
        deadline_s=entry.deadline_s,
        output_cap=entry.output_cap,
    )


def result_of(result: CallToolResult) -> Result:
    """What a tool found: its structured content, or its text, read as JSON where it is an object.

    Raises `ToolFailed` with the server's own words for an error.
    """
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    if result.is_error:
        raise _failed(text.strip()[:ERROR_LIMIT] or "It failed without a word.")
    data = result.structured_content if isinstance(result.structured_content, dict) else _object(text)
    others = [block.type for block in result.content if not isinstance(block, TextContent)]
    note = f"Parts that are not text were left out: {', '.join(others)}." if others else ""
    return Result(data, sample=data.get("sample") is True, note=note)


def _object(text: str) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"text": text}


def _failed(message: str) -> ToolFailed:
    error = ToolFailed(message)
    error.retryable = False  # it answered: the same call would fail again
    return error
