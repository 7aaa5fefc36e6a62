"""Client tools are functions that the client of a typed turn carries out itself. The model sees them as tools."""

import json

from backend.runtime.json_objects import Json
from backend.tools.base import Tool, left_to_client
from backend.turns.call_options import ClientTool


def as_tool(function: ClientTool) -> Tool:
    """Return the tool that stands for a client's function. It is offered in every turn and to every user."""
    return Tool(
        name=function.name,
        description=function.description,
        function=left_to_client,
        read_arguments=_unchecked,
        parameters=dict(function.parameters),
        always=True,
        cache=False,
    )


def _unchecked(arguments: str) -> Json:
    values: Json = json.loads(arguments)
    return values
