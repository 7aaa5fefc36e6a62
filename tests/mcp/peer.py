"""A server with tools, made with the official SDK, as a process: `python -m tests.mcp.peer stdio|http PORT`."""

import asyncio
import os
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)

server = MCPServer("peer", log_level="ERROR")


@server.tool(description="Adds two numbers.", annotations=READS)
def add(a: int, b: int) -> dict[str, Any]:
    """Return the sum as structured content."""
    return {"sum": a + b}


@server.tool(name="Shout-It", description="Says it loudly.", annotations=READS)
def shout(text: str) -> str:
    """Return plain text."""
    return text.upper()


@server.tool(description="Takes its time.", annotations=READS)
async def slow(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "done"


@server.tool(description="Does not work.", annotations=READS)
def fail() -> str:
    """Fail with an error."""
    raise ToolError("the cupboard is bare")


@server.tool(description="Says a lot.", annotations=READS)
def big(characters: int) -> str:
    """Return a long text."""
    return "x" * characters


@server.tool(description="Files.", annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
def file(what: str) -> str:
    """Pretend to file something."""
    return f"filed {what}"


@server.tool(description="Says nothing about itself.")
def unsaid(what: str) -> str:
    """Pretend to do something."""
    return f"did {what}"


@server.tool(description="Wipes.", annotations=ToolAnnotations(destructive_hint=True))
def wipe(what: str) -> str:
    """Pretend to wipe something."""
    return f"wiped {what}"


@server.tool(description="Ends the process.", annotations=READS)
def die() -> str:
    """End the process without an answer."""
    os._exit(3)


@server.tool(description="Tells the process's id.", annotations=READS)
def whoami() -> dict[str, Any]:
    """Return the process id, which shows whether the process is still the same."""
    return {"pid": os.getpid()}


@server.tool(description="Tells what it was given of the environment.", annotations=READS)
def environment() -> dict[str, Any]:
    """Return the names of the environment variables."""
    return {"names": sorted(os.environ)}


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
