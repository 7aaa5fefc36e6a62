"""A tool is described by its signature."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from backend.errors import BadPlugin
from backend.tools.base import Result, Tool, tool


class Service:
    """Something to inject."""


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def declared(function: Any) -> Tool:
    return function.__tool__  # type: ignore[no-any-return]


@tool("paint", "Paints.", guidance="Paint well.")
async def paint(
    service: Service,
    title: Annotated[str, "What to paint."],
    colour: Colour,
    coats: Annotated[int, Field(ge=1, le=3, description="How often.")] = 1,
    finish: Literal["matt", "gloss"] | None = None,
    places: list[str] | None = None,
) -> Result:
    """Does nothing."""
    return Result({"title": title, "service": type(service).__name__})


def test_json_types_are_arguments_and_classes_are_services() -> None:
    assert set(declared(paint).parameters["properties"]) == {"title", "colour", "coats", "finish", "places"}
    assert declared(paint).services == {"service": Service}


def test_the_schema_says_what_the_model_needs() -> None:
    function = declared(paint).schema()["function"]
    assert (function["name"], function["description"]) == ("paint", "Paints.")
    parameters = function["parameters"]
    assert parameters["required"] == ["title", "colour"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["title"] == {"description": "What to paint.", "type": "string"}
    assert parameters["properties"]["coats"]["maximum"] == 3


async def untyped(place) -> Result:  # type: ignore[no-untyped-def]
    """A parameter without a type."""
    return Result({})


def not_async(place: str) -> Result:
    """Not a coroutine function."""
    return Result({})


@pytest.mark.parametrize(("name", "function"), [("ok", untyped), ("ok", not_async), ("Not Ok", paint)])
def test_a_function_that_cannot_be_a_tool_is_refused(name: str, function: Any) -> None:
    with pytest.raises(BadPlugin):
        tool(name, "x")(function)


def test_a_function_with_a_json_schema_takes_one_dict() -> None:
    for function, schema in ((paint, {"type": "object"}), (act, {"type": "array"})):
        with pytest.raises(BadPlugin, match="ok"):
            tool("ok", "x", parameters=schema)(function)


async def act(action: str) -> Result:
    return Result({})


async def also_act(action: str) -> Result:
    return Result({})


def test_consent_may_be_needed_for_some_actions_only() -> None:
    some = declared(tool("act", "x", confirm=["post"])(act))
    every = declared(tool("act", "x", confirm=True)(also_act))
    assert [some.needs_consent({"action": action}) for action in ("post", "look")] == [True, False]
    assert every.needs_consent({"action": "look"}) and some.confirm
    with pytest.raises(BadPlugin, match="no argument called action"):
        tool("paint", "x", confirm=["post"])(paint)
