"""Tools of another MCP server become tools of this one: named, described, checked and bounded like any other. Pure.

A server's description of its tools is not trusted: names are made to fit, descriptions are cut, and tools with unusable
schemas are left out. By the specification, a tool may destroy something unless its server says that it only reads or
only adds; such a tool needs the user's consent. Results count as text of others.
"""

import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent
from mcp_types import Tool as Listed

from backend.access.principal import ToolScope
from backend.settings.mcp import McpServerEntry
from backend.tools.base import Json, Result, Tool, ToolLimits
from backend.tools.fetch import refused
from backend.tools.schema_arguments import argument_reader, schema_problem

log = logging.getLogger(__name__)

NAME_LIMIT = 64
"""The most characters that model APIs accept in a function's name."""
DESCRIPTION_LIMIT = 1_000
SCHEMA_LIMIT = 16_000
"""The most characters of a schema's JSON, which is sent with every request to a model."""
TOOLS_LIMIT = 100
"""The most tools of one server."""
ERROR_LIMIT = 500
"""The most characters of a server's error message that are passed on."""

CallRemote = Callable[[str, Mapping[str, Any]], Awaitable[CallToolResult]]
"""(The server's own name for the tool, arguments) → its result. Raises `ToolFailed`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The server that tools come from, and the operator's rules for their use."""

    server: str
    entry: McpServerEntry
    call: CallRemote


def tools_of(origin: Origin, listed: Iterable[Listed]) -> dict[str, Tool]:
    """Return the wanted and usable tools, by their names on this server."""
    tools: dict[str, Tool] = {}
    wanted = origin.entry.tools
    for each in listed:
        if wanted is not None and each.name not in wanted:
            continue
        name = our_name(origin.server, each.name)
        # The first tool of a name wins; models get neither too many tools nor broken schemas.
        if name in tools or len(tools) == TOOLS_LIMIT or not usable(each.input_schema):
            log.warning("a tool of %s is left out: its schema cannot be used, or there are too many", origin.server)
            continue
        tools[name] = _tool(origin, name, each)
    return tools


def our_name(server: str, tool: str) -> str:
    """Return `{server}__{tool}`, in the characters and the length that model APIs accept."""
    name = f"{server}__{re.sub(r'[^A-Za-z0-9_-]', '_', tool)}"
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 9]}_{hashlib.sha256(tool.encode()).hexdigest()[:8]}"


def usable(schema: Mapping[str, Any]) -> bool:
    """Return whether a model can fill in this schema."""
    return len(json.dumps(schema, default=str)) <= SCHEMA_LIMIT and not schema_problem(schema)


def _tool(origin: Origin, name: str, listed: Listed) -> Tool:
    entry = origin.entry

    async def function(**values: Any) -> Result:
        return result_of(await origin.call(listed.name, values))

    reads_only = is_read_only(listed) or listed.name in entry.read_only
    named = entry.confirm if isinstance(entry.confirm, bool) else listed.name in entry.confirm
    return Tool(
        name=name,
        description=(listed.description or listed.title or listed.name)[:DESCRIPTION_LIMIT],
        function=function,
        read_arguments=argument_reader(listed.input_schema),
        parameters={"properties": {}} | listed.input_schema,
        scope=scope_of(entry),
        confirm=named or not (reads_only or is_harmless(listed)),
        writes=not reads_only,
        untrusted=True,
        cache=False,
        clients=frozenset(entry.clients),
        source=origin.server,
        limits=ToolLimits(entry.deadline_s),
    )


def scope_of(entry: McpServerEntry) -> ToolScope:
    """Return the scope that a server's tools need. A server with credentials acts as the operator."""
    if entry.scope is not None:
        return ToolScope.ANONYMOUS if entry.scope == "public" else ToolScope[entry.scope.upper()]
    return ToolScope.OPERATOR if entry.command or entry.headers or entry.env else ToolScope.ANONYMOUS


def is_read_only(listed: Listed) -> bool:
    """Return whether the server says that the tool changes nothing; the specification's default is that it does."""
    return listed.annotations is not None and listed.annotations.read_only_hint is True


def is_harmless(listed: Listed) -> bool:
    """Return whether the server says that the tool only adds; the specification's default is that it may destroy."""
    return listed.annotations is not None and listed.annotations.destructive_hint is False


def result_of(result: CallToolResult) -> Result:
    """Return a tool's result: its structured content, or its text, parsed as JSON where it is an object.

    Raises `ToolFailed` with the server's own words for an error.
    """
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    if result.is_error:
        raise refused(text.strip()[:ERROR_LIMIT] or "It failed without a message.")  # a second attempt cannot help
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
