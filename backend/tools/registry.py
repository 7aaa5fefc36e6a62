"""The registry holds all tools, in the forms in which each kind of client sees them.

It finds every `@tool` function in this package, extensions and plugins. Tools of other servers join from their sources
while the server runs.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from backend.access.principal import EVERYTHING, CallerScope, ToolScope
from backend.errors import BadPlugin, ToolFailed
from backend.settings.settings import Settings
from backend.tools.base import Client, Json, Tool, ToolContext, ToolRights
from backend.tools.confirmations import Confirmations
from backend.tools.discovery import declared_in, file_of, package_modules
from backend.tools.runner import Toolbox, ToolResult, ToolSource

OURSELVES = ToolContext("", client="internal", rights=ToolRights(EVERYTHING, attended=False))
"""The context of the server's own work, on behalf of no user."""

DESCRIBED = ("name", "description", "parameters", "requires_auth", "persistent", "always", "source")


class Registry(Toolbox):
    """The toolbox with every tool."""

    def get_tool(self, name: str) -> Tool | None:
        """Return the tool of that name if it is available now; own tools take precedence."""
        return self._tools().get(name)

    get_openai_tools = get_tools_schema = Toolbox.schemas

    async def execute(self, tool_name: str, arguments: Mapping[str, Any], user_id: str) -> Any:
        """Call a tool for a signed-in user, and return its data. Raises `ToolFailed` with words for a model."""
        rights = ToolRights(CallerScope(ToolScope.SIGNED_IN), attended=False)
        context = ToolContext(user_id, client="internal", rights=rights)
        result = await self.call_tool(tool_name, arguments, context)
        data = json.loads(result.content)
        if result.error:
            raise ToolFailed(str(data.get("error", {}).get("message", result.error)))
        return data

    def get_mcp_tools(self, client: Client, caller_scope: CallerScope = EVERYTHING) -> list[Json]:
        """Return the tools that `client` may use, in the form of the Model Context Protocol."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.parameters,
                "annotations": {"readOnlyHint": not tool.writes, "destructiveHint": bool(tool.confirm)},
            }
            for tool in self.offered(client, caller_scope)
        ]

    def get_always_tools(self, client: Client) -> list[Tool]:
        """Return the tools that `client` is offered in every turn."""
        return [tool for tool in self.offered(client) if tool.always]

    def get_routed_tools_catalog(self, client: Client | None = None) -> dict[str, str]:
        """Return the name and description of every tool that is not always offered, for a router."""
        return {tool.name: tool.description for tool in self.offered(client) if not tool.always}

    def get_openai_tools_by_names(self, names: Iterable[str], client: Client) -> list[Json]:
        """Return those of the named tools that `client` may use now, in the order given."""
        offered = {tool.name: tool for tool in self.offered(client)}
        return [offered[name].schema() for name in dict.fromkeys(names) if name in offered]

    def described(self, client: Client, caller_scope: CallerScope = EVERYTHING) -> list[Json]:
        """Return the tools `client` may use, for pages: with flags, scope and source."""
        return [
            {name: getattr(tool, name) for name in DESCRIBED}
            | {"confirm": bool(tool.confirm), "clients": sorted(tool.clients), "scope": tool.scope.name.lower()}
            | ({"confirm_actions": sorted(tool.confirm)} if isinstance(tool.confirm, frozenset) else {})
            for tool in self.offered(client, caller_scope)
        ]

    async def call_tool(self, name: str, params: Mapping[str, Any], context: ToolContext = OURSELVES) -> ToolResult:
        """Make one call under all rules. An own tool takes precedence over another server's of the same name."""
        return await self.run(name, json.dumps(params, ensure_ascii=False, default=str), context)


def discover(
    services: Mapping[Any, Any],
    further: Iterable[ModuleType] = (),
    sources: Iterable[ToolSource] = (),
    confirmations: Confirmations | None = None,
) -> Registry:
    """Return all tools that are set up, including those in `further` modules.

    Raises `BadPlugin` for a broken file, a repeated name, or a service that is not provided.
    """
    found: dict[str, Tool] = {}
    files: dict[str, str] = {}
    settings = services.get(Settings)
    for module in (*package_modules("backend.tools"), *further):
        for tool in tools_of(module):
            if tool.name in files:
                raise BadPlugin(f"Two tools are called {tool.name}: in {files[tool.name]} and in {file_of(module)}.")
            files[tool.name] = file_of(module)
            if settings is not None and tool.scope_with is not None:
                scope = tool.scope_with(settings)
                if scope is None:
                    continue
                tool = replace(tool, scope=scope)
            found[tool.name] = tool
    left_out = frozenset(files) - set(found)
    return Registry(found.values(), services, confirmations, sources=tuple(sources), left_out=left_out)


def tools_of(module: ModuleType) -> list[Tool]:
    """Return the tools declared in `module` itself, not those it imports."""
    return declared_in(module, "__tool__", Tool)
