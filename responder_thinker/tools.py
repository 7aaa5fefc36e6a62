"""The names for the author of a tool: a function under `@tool(name, description)`."""

from backend.access.principal import ToolScope
from backend.citations import Citation
from backend.errors import BadRequest, ToolFailed
from backend.tools.base import OURS, Clock, Result, ToolContext, ToolResponse, tool
from backend.tools.fetch import ServiceAnswer, fetch_answer
from backend.users.context_update import ContextUpdate

__all__ = [
    "OURS",
    "BadRequest",
    "Citation",
    "Clock",
    "ContextUpdate",
    "Result",
    "ServiceAnswer",
    "ToolContext",
    "ToolFailed",
    "ToolResponse",
    "ToolScope",
    "fetch_answer",
    "tool",
]
