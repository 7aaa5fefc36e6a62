"""MCP servers that OpenAI calls by itself: how they are named to it, and what it tells of its calls. Pure.

    response.output_item.added    mcp_call               a call begins: `ToolCalled`, its result stays there
    response.output_item.done,    mcp_call               it has ended, well or badly: `ProviderToolEnded`
    conversation.item.done
    conversation.item.added       mcp_call               one that was agreed to begins: `ProviderToolBegun`
    response.output_item.done     mcp_approval_request   it asks about one: `ToolCalled`, answered by `AnswerApproval`
    mcp_list_tools.failed                                the server's tools are not known: `ProviderComplained`

Written against the types of the `openai` package and the guide "Realtime API with MCP". After a call, nothing is said
until a reply is asked for, as after a function's result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import msgspec

from backend.errors import SetupError
from backend.runtime.json_objects import Json
from backend.turns import events as ev
from backend.turns.commands import PROVIDER_TOOL, AnswerApproval
from backend.turns.events import ResponderEvent

ASKS, CALLS = f"{PROVIDER_TOOL}ask:", f"{PROVIDER_TOOL}call:"
"""The prefixes of the names of tool calls that are questions, and of those that the provider carries out."""
UNLISTED = "The tools of an MCP server could not be listed."


class ToolFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tools of a server, by name or because they only read."""

    tool_names: tuple[str, ...] = ()
    read_only: bool | None = None


class ApprovalFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tools that are asked about, and those that are not."""

    always: ToolFilter | None = None
    never: ToolFilter | None = None


class McpServer(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type", tag="mcp"
):
    """A server as the Realtime API takes it among its tools. Unless it says otherwise, each call is asked about."""

    server_label: str
    server_url: str | None = None
    connector_id: str | None = None
    authorization: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: tuple[str, ...] | ToolFilter | None = None
    require_approval: Literal["always", "never"] | ApprovalFilter | None = None
    server_description: str | None = None

    def __repr__(self) -> str:
        return f"McpServer({self.server_label})"

    def as_tool(self) -> Json:
        """Return the entry among the tools of a session."""
        tool: Json = msgspec.to_builtins(self)
        return {"require_approval": "always"} | tool


def read_servers(file: str) -> tuple[McpServer, ...]:
    """Return the servers of a JSON file. Raises `SetupError`."""
    try:
        servers = msgspec.json.decode(Path(file).read_bytes(), type=tuple[McpServer, ...])
    except (OSError, msgspec.DecodeError) as error:
        why = str(error) if isinstance(error, msgspec.ValidationError) else type(error).__name__
        raise SetupError(
            f"REALTIME_MCP_FILE cannot be read: {why}.", hint="It is a JSON list of MCP servers."
        ) from None
    for server in servers:
        if (server.server_url is None) is (server.connector_id is None):
            hint = "Give it a server_url or a connector_id."
            raise SetupError(f"The MCP server {server.server_label} has no address, or two.", hint=hint)
    if len({server.server_label for server in servers}) < len(servers):
        raise SetupError("Two MCP servers have the same server_label.", hint="Give each a label of its own.")
    return servers


class McpItems:
    """The calls of one connection that the provider carries out, and its questions."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def holds(self, call: str) -> bool:
        """Return whether the provider already has a call's result, so that none is to be submitted."""
        return call in self._known

    def begun(self, reply: str, item: Json) -> list[ResponderEvent]:
        """Take an item that a reply has begun."""
        if item.get("type") != "mcp_call":
            return []
        self._known.add(item["id"])
        return [ev.ToolCalled(reply, item["id"], f"{CALLS}{_named(item)}", item.get("arguments") or "{}")]

    def added(self, item: Json) -> list[ResponderEvent]:
        """Take an item that has come into the conversation."""
        approval = item.get("approval_request_id") if item.get("type") == "mcp_call" else None
        return [ev.ProviderToolBegun(approval)] if approval else []

    def done(self, reply: str, item: Json) -> list[ResponderEvent]:
        """Take an item that is whole; it may come twice."""
        match item.get("type"):
            case "mcp_approval_request" if reply:
                self._known.add(item["id"])
                return [ev.ToolCalled(reply, item["id"], f"{ASKS}{_named(item)}", item.get("arguments") or "{}")]
            case "mcp_call":
                error = item.get("error") or {}
                why = str(error.get("message") or error.get("content") or error.get("type")) if error else ""
                return [ev.ProviderToolEnded(item["id"], item.get("approval_request_id") or "", why[:500])]
        return []


def approval_item(command: AnswerApproval, item_id: str) -> Json:
    """Return the item that answers whether a call may be made."""
    answer = {"type": "mcp_approval_response", "id": item_id, "approval_request_id": command.call}
    return answer | {"approve": command.approve} | ({"reason": command.reason} if command.reason else {})


def _named(item: Json) -> str:
    return f"{item.get('server_label', '')}.{item.get('name', '')}"


def arguments_of(text: str) -> Json:
    """Return a call's arguments; a value that is no object gets a name, so that the caller can be shown it."""
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = text
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}
