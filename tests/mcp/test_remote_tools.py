"""The tools that a remote server lists become tools of ours."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent
from mcp_types import Tool as Listed

from backend.errors import BadRequest, ToolFailed
from backend.mcp.remote_tools import NAME_LIMIT, Origin, our_name, result_of, tools_of, usable
from backend.settings.mcp import McpServerEntry
from backend.tools.schema_arguments import argument_reader

OBJECT: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


async def nothing(tool: str, values: Mapping[str, Any]) -> CallToolResult:
    return CallToolResult(content=[])


def names(*listed: Listed, **entry: Any) -> list[str]:
    return list(tools_of(Origin("far", McpServerEntry(url="http://far", **entry), nothing), listed))


def test_names_are_shortened_and_cleaned() -> None:
    assert our_name("far", "get.forecast/now") == "far__get_forecast_now"
    long = [our_name("far", "a" * 80 + end) for end in ("x", "y")]
    assert long[0] != long[1] and all(len(name) <= NAME_LIMIT for name in long)


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "string"}, {"type": "object", "properties": 7}, {"type": "object", "description": "x" * 20_000}],
)
def test_a_tool_with_an_unusable_schema_is_left_out(schema: dict[str, Any]) -> None:
    assert not usable(schema)
    assert names(Listed(name="bad", input_schema=schema), Listed(name="good", input_schema=OBJECT)) == ["far__good"]


def test_the_second_tool_with_the_same_name_is_left_out() -> None:
    assert names(Listed(name="a.b", input_schema=OBJECT), Listed(name="a/b", input_schema=OBJECT)) == ["far__a_b"]


@pytest.mark.parametrize(
    ("result", "data"),
    [
        (CallToolResult(content=[], structured_content={"sample": True}), {"sample": True}),
        (CallToolResult(content=[TextContent(text='{"a": 1}')]), {"a": 1}),
        (CallToolResult(content=[TextContent(text="one"), TextContent(text="two")]), {"text": "one\ntwo"}),
        (CallToolResult(content=[TextContent(text="[1]")], structured_content=[1]), {"text": "[1]"}),
        (CallToolResult(content=[ImageContent(data="AAAA", mime_type="image/png")]), {"text": ""}),
    ],
)
def test_the_result_of_a_tool_becomes_data(result: CallToolResult, data: dict[str, Any]) -> None:
    found = result_of(result)
    assert found.data == data
    assert found.sample is ("sample" in data) and ("image" in found.note) is (data == {"text": ""})


def test_an_error_becomes_a_failure_with_the_words_of_the_server() -> None:
    with pytest.raises(ToolFailed, match="no luck"):
        result_of(CallToolResult(content=[TextContent(text="no luck")], is_error=True))


@pytest.mark.parametrize("text", ["nope", "[]", "{}", '{"x": "1"}', '{"x": 1.5}', '{"x": 987654.5}'])
def test_wrong_arguments_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(BadRequest) as error:
        argument_reader(OBJECT)(text)
    assert "987654" not in str(error.value)
    assert argument_reader(OBJECT)('{"x": 1, "y": 2}') == {"x": 1, "y": 2}


def test_a_regular_expression_of_a_remote_schema_is_not_run_and_an_address_not_fetched() -> None:
    evil = {
        "type": "object",
        "properties": {
            "x": {"type": "string", "pattern": "^(a+)+$"},
            "pattern": {"type": "string"},
            "far": {"$ref": "http://127.0.0.1:9/schema.json"},
        },
    }
    assert argument_reader(evil)('{"x": "' + "a" * 40 + '!"}')["x"].endswith("!")
    with pytest.raises(BadRequest):
        argument_reader(evil)('{"pattern": 7}')
    assert argument_reader(evil)('{"far": 7}') == {"far": 7}
