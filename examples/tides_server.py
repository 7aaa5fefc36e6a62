"""A small MCP server, made with the official SDK, for `MCP__SERVERS` to name (see docs/howto/tools-and-mcp.md).

The tides are made up.
"""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("tides")


@server.tool(
    description="Today's high and low water at a port (sample data).", annotations=ToolAnnotations(read_only_hint=True)
)
def tides(port: str) -> dict[str, Any]:
    """The times, labelled as what they are."""
    return {"sample": True, "port": port, "high_water": ["04:12", "16:38"], "low_water": ["10:25", "22:51"]}


if __name__ == "__main__":
    server.run("stdio")
