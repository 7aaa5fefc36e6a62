"""The official SDK serves the tools over the Model Context Protocol.

One SDK server answers at all endpoints. Each request carries its `McpCaller`, which decides the tools that it may list
and call. There are no sessions: any process may answer any request. The toolbox enforces all rules for calls; this
module only translates the results into the protocol.

A tool that needs the user's consent answers the first call with an error that explains what to do: have the user agree
on their own page, or with `POST /api/confirmations/{id}`, and make the same call again within five minutes. A client's
word about the user's wishes is no consent, since the client may have read it in a web page.
"""

import hashlib
import json
import secrets
from typing import Any

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
from starlette.requests import Request

from backend.mcp.endpoint import CALLER, McpCaller
from backend.tools.base import ToolContext, ToolRights
from backend.tools.consent import canonical
from backend.tools.registry import Registry

NAME = "responder-thinker"
INSTRUCTIONS = (
    "Tools of a voice assistant. A result with `sample` true is demonstration data: say so. An error of type "
    "needs_confirmation means that nothing was done: the user agrees on this server's page, which shows the question; "
    "then make the same call again."
)

Context = ServerRequestContext[Any, Request]


def tool_server(registry: Registry) -> Server[Any]:
    """Return the SDK's server over `registry`."""

    async def list_tools(context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = _caller(context)
        shown = registry.get_mcp_tools(caller.client, caller.principal.caller_scope)
        return ListToolsResult(tools=[Tool.model_validate(each) for each in shown])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        caller = _caller(context)
        arguments = params.arguments or {}
        # No message of the user passes here, so each act has its own question, which the user answers on the page.
        act = hashlib.sha256(canonical({"tool": params.name, "arguments": arguments}).encode()).hexdigest()[:16]
        asking = ToolContext(
            caller.principal.user,
            f"mcp:{caller.id}:{act}",
            secrets.token_hex(8),
            caller.client,
            rights=ToolRights(caller.principal.caller_scope),
        )
        result = await registry.call_tool(params.name, arguments, asking)
        return CallToolResult(
            content=[TextContent(text=result.content)],
            structured_content=json.loads(result.content),
            is_error=result.error is not None,
        )

    return Server(NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def session_manager(server: Server[Any]) -> StreamableHTTPSessionManager:
    """Return the SDK's HTTP application. Host and origin of its requests were checked before."""
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(server, stateless=True, security_settings=unchecked)


def _caller(context: Context) -> McpCaller:
    assert context.request is not None, "a request over HTTP"
    caller: McpCaller = context.request.scope[CALLER]
    return caller
