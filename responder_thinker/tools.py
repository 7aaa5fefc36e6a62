"""The names for the author of a tool: a function under `@tool(name, description)`."""

from backend.access.principal import ToolScope
from backend.citations import Citation
from backend.errors import BadRequest, ToolFailed
from backend.tools.base import Clock, Result, ToolContext, ToolResponse, tool

__all__ = ["BadRequest", "Citation", "Clock", "Result", "ToolContext", "ToolFailed", "ToolScope", "tool"]
__all__ += ["ToolResponse"]
