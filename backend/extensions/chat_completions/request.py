"""This module turns a request to `/v1/chat/completions` into a typed turn."""

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend.chat.client_messages import ClientMessage, as_turn
from backend.chat.turn import ChatRequest
from backend.errors import BadField
from backend.realtime.session import TOOLS_LIMIT
from backend.runtime.json_objects import Json
from backend.tools.schema_arguments import schema_problem
from backend.turns.call_options import OUR_TOOLS, ClientTool

MODEL = "responder-thinker"
"""The name of this server's conversation as a model; `responder-thinker:NAME` is its mode of that name."""
NEEDED: dict[str, tuple[object, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "response_format": ({"type": "text"},),
    "stop": ([], ""),
    "functions": ([],),
    "function_call": ("auto", "none"),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
}
"""Fields of the API that are not supported here → the values that ask for nothing, and are accepted."""


class _Parameters(BaseModel):
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(BaseModel):
    type: str
    function: _Parameters | None = None


class _StreamOptions(BaseModel):
    include_usage: bool | None = None


class Completion(BaseModel):
    """The body of `POST /v1/chat/completions`. Any other field changes nothing: the server's settings decide."""

    model_config = ConfigDict(extra="allow")

    messages: list[ClientMessage] = Field(min_length=1)
    model: str = Field(default=MODEL, max_length=128)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    tools: list[_Tool] | None = Field(default=None, max_length=TOOLS_LIMIT)
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None

    @property
    def wants_usage(self) -> bool:
        """Return whether a stream ends with the tokens that were used."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def mode(self) -> str:
        """The mode that the model's name asks for; empty: the mode that the user has chosen."""
        name, _, mode = self.model.partition(":")
        return mode if name == MODEL else ""


def parse(raw: bytes) -> Completion:
    """Return the request. Raises `BadField`, which names the field that is wrong or not supported."""
    try:
        completion = Completion.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise _bad_field(error) from None
    given = completion.model_extra or {}
    for name, allowed in NEEDED.items():
        if given.get(name) is not None and given[name] not in allowed:
            raise BadField(
                f"'{name}' is not supported with this value.",
                param=name,
                code="unsupported_value",
                hint="Leave it out.",
            )
    return completion


def as_request(completion: Completion, user_id: str) -> ChatRequest:
    """Return the typed turn, which belongs to no conversation yet. Raises `BadField`."""
    asked = as_turn(completion.messages, user_id)
    return replace(asked, platform="openai", mode=completion.mode, tools=_tools(completion))


def _tools(completion: Completion) -> tuple[ClientTool, ...]:
    choice = completion.tool_choice
    if choice not in (None, "auto", "none"):
        hint = "Send 'auto' or 'none': the model decides which function it calls."
        raise BadField(
            "A particular function cannot be required.", param="tool_choice", code="unsupported_value", hint=hint
        )
    tools: dict[str, ClientTool] = {}
    for number, tool in enumerate(completion.tools or ()):
        at = f"tools[{number}]"
        if tool.type != "function" or tool.function is None:
            raise BadField("Only functions are supported as tools.", param=f"{at}.type", code="unsupported_value")
        function = tool.function
        if function.name in OUR_TOOLS or function.name in tools:
            raise BadField(f"The name {function.name} is taken.", param=f"{at}.function.name", hint="Choose another.")
        parameters: Json = function.parameters or {"type": "object", "properties": {}}
        if problem := schema_problem(parameters):
            raise BadField(f"That is not the JSON Schema of an object: {problem}", param=f"{at}.function.parameters")
        tools[function.name] = ClientTool(function.name, function.description or "", parameters)
    return () if choice == "none" else tuple(tools.values())


def _bad_field(error: ValidationError) -> BadField:
    """Return the first error; for a union, the first error of the alternative that fits best."""
    first = max(error.errors(include_url=False, include_input=False), key=lambda each: len(each["loc"]))
    if first["type"] == "json_invalid":
        return BadField("The body is not valid JSON.", code="invalid_json")
    param = ""
    for part in first["loc"]:
        if isinstance(part, int):
            param += f"[{part}]"
        elif "[" not in part and part not in ("str", "function-wrap"):  # a name, not an alternative of a union
            param += f".{part}" if param else part
    if first["type"] == "missing":
        return BadField(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")
    return BadField(f"Invalid '{param}': {first['msg']}.", param=param)
