"""Functions that the client of a typed turn carries out itself, as tools that the model is offered beside ours."""

from __future__ import annotations

import json
from typing import NoReturn

from backend.runtime.json_objects import Json
from backend.tools.base import Tool
from backend.turns.call_options import ClientTool


def as_tool(function: ClientTool) -> Tool:
    """Return the tool that stands for a client's function: offered in every turn, within every user's scope."""
    return Tool(
        name=function.name,
        description=function.description,
        function=_never,
        read_arguments=_unchecked,
        parameters=dict(function.parameters),
        client_side=True,
        always=True,
        cache=False,
    )


async def _never(**_values: object) -> NoReturn:
    raise RuntimeError("a client's function is called by the client")


def _unchecked(arguments: str) -> Json:
    values: Json = json.loads(arguments)
    return values
