"""This module turns a request to `/v1/chat/completions` into a typed turn.

The question is the user's last message or, without one, the last instruction. The messages before it are the
conversation as the client knows it. Calls of the client's functions after it, with their results, are rounds that the
client has carried out since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend.chat.turn import ChatRequest
from backend.errors import BadField
from backend.realtime.session import TOOLS_LIMIT
from backend.runtime.json_objects import Json
from backend.storage.messages import ClientRound, StoredCall
from backend.tools.schema_arguments import schema_problem
from backend.turns.call_options import OUR_TOOLS, ClientTool

QUESTION_LIMIT = 8_000
"""The most characters of the question."""
EARLIER_LIMIT = 40
"""The most messages before the question that are read; the oldest are left out."""
INSTRUCTING = ("system", "developer")
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


class _Function(BaseModel):
    name: str = Field(min_length=1, max_length=64)
    arguments: str = "{}"


class _Call(BaseModel):
    id: str = Field(min_length=1, max_length=128)
    type: Literal["function"] = "function"
    function: _Function


class _ContentPart(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_ContentPart] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


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

    messages: list[_Message] = Field(min_length=1)
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


def as_turn(completion: Completion, user_id: str) -> ChatRequest:
    """Return the typed turn, which belongs to no conversation yet. Raises `BadField`."""
    messages = completion.messages
    users = [number for number, message in enumerate(messages) if message.role == "user"]
    instructing = [number for number, message in enumerate(messages) if message.role in INSTRUCTING]
    if not users and not instructing:
        raise BadField("There is no message with the role user.", param="messages", hint="Send at least one.")
    at = (users or instructing)[-1]
    text = _text(messages[at], at).strip()
    if not text or len(text) > QUESTION_LIMIT:
        problem = f"is longer than {QUESTION_LIMIT} characters" if text else "is empty"
        raise BadField(f"The user's last message {problem}.", param=f"messages[{at}].content")
    earlier = [
        (message.role, words)
        for number, message in enumerate(messages[:at])
        if message.role in ("user", "assistant") and (words := _text(message, number).strip())
    ]
    instructions = [_text(messages[number], number) for number in instructing if number != at]
    return ChatRequest(
        user_id,
        text,
        earlier=tuple(earlier[-EARLIER_LIMIT:]),
        platform="openai",
        mode=completion.mode,
        instructions="\n\n".join(filter(None, map(str.strip, instructions))),
        tools=_tools(completion),
        client_rounds=_rounds(messages, at + 1),
    )


def _text(message: _Message, number: int) -> str:
    """Return the words of a message. Raises `BadField` for a part that is not text."""
    if not isinstance(message.content, list):
        return message.content or ""
    for index, part in enumerate(message.content):
        if part.type not in ("text", "refusal"):
            at = f"messages[{number}].content[{index}].type"
            hint = "Send text; for audio use /v1/realtime."
            raise BadField("Only text is supported here.", param=at, code="unsupported_value", hint=hint)
    return "\n".join(part.text or part.refusal or "" for part in message.content)


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


def _rounds(messages: Sequence[_Message], start: int) -> tuple[ClientRound, ...]:
    """Return the calls since the question, each with its result. Raises `BadField` for a call without a result."""
    rounds: list[ClientRound] = []
    number = start
    while number < len(messages):
        message, number = messages[number], number + 1
        if message.role in INSTRUCTING:
            continue
        if message.role == "tool":
            hint = "A message of the role tool follows the assistant's message that made the call."
            raise BadField(
                "There is no call that this result belongs to.", param=f"messages[{number - 1}].role", hint=hint
            )
        calls = message.tool_calls or []
        if not calls:
            hint = "End with a message of the user, or with the results of all calls."
            raise BadField("The last message is the assistant's.", param=f"messages[{number - 1}].role", hint=hint)
        _check_calls(calls, f"messages[{number - 1}].tool_calls")
        results: dict[str, str] = {}
        while number < len(messages) and messages[number].role == "tool":
            results[messages[number].tool_call_id or ""] = _text(messages[number], number)
            number += 1
        if missing := [call.id for call in calls if call.id not in results]:
            hint = "Send one message of the role tool for each call."
            param = f"messages[{number - 1}]"
            raise BadField(f"{len(missing)} of the calls before have no result.", param=param, hint=hint)
        stored = tuple(StoredCall(call.id, call.function.name, call.function.arguments) for call in calls)
        texts = tuple(results[call.id] for call in calls)
        rounds.append(ClientRound(stored, texts, _text(message, number)))
    return tuple(rounds)


def _check_calls(calls: Sequence[_Call], at: str) -> None:
    """Raise `BadField` for calls that no model can have made: some models refuse a conversation that holds them."""
    if len({call.id for call in calls}) < len(calls):
        raise BadField("Two calls have the same ID.", param=at)
    for number, call in enumerate(calls):
        try:
            json.loads(call.function.arguments)
        except (ValueError, RecursionError):
            raise BadField("That is not valid JSON.", param=f"{at}[{number}].function.arguments") from None


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
