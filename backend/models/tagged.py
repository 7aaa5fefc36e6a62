"""A `ChatModel` for models without native tool calls: it tells them of the tools in words, and reads calls from theirs.

Above this, nothing differs: the same messages and tools go in, the same `ToolCall`s come out, and the agent's loop
stays the only one. Below, calls and results travel as tagged text; see `tags` for what is read.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from backend.models.base import ChatModel, Delta, Finished, Json, TextDelta, ToolCall
from backend.models.tags import CALL, CALL_END, RESULT, RESULT_END, Call, Malformed, Piece, TagReader, Words

MALFORMED = "malformed_call"
"""The name a call is given that cannot be read: no tool has it, so that it comes back as a failure."""
GUIDE = """\
You can call these functions (JSON Schemas of their arguments):
{tools}

To call one, write exactly this, and nothing after it:
{call}{{"name": "the function's name", "arguments": {{…}}}}{end}
Several calls may follow each other. Then stop: the results come with the next message, between {result} … > and \
{done}. Never write results yourself. When you need no function, just answer."""
FORM = f'That was no function call. Write {CALL}{{"name": "…", "arguments": {{…}}}}{CALL_END} with valid JSON.'


class TaggedChatModel:
    """Wraps `inner`. Only requests for one of `models` are changed; None: all."""

    def __init__(self, inner: ChatModel, models: Collection[str] | None = None) -> None:
        self._inner = inner
        self._models = models

    def __repr__(self) -> str:
        return f"TaggedChatModel({self._inner!r})"

    async def stream(
        self,
        messages: Sequence[Json],
        *,
        model: str,
        tools: Sequence[Json] = (),
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel.stream`. A model that goes on after a call is not listened to any longer."""
        tagged = self._models is None or model in self._models
        stream = (
            self._tagged(messages, model, tools) if tagged else self._inner.stream(messages, model=model, tools=tools)
        )
        async with _closing(stream) as deltas:
            async for delta in deltas:
                yield delta

    async def _tagged(self, messages: Sequence[Json], model: str, tools: Sequence[Json]) -> AsyncGenerator[Delta, None]:
        names = names_of(tools)
        reader = TagReader(names)
        called, end = False, Finished("stop")
        async with _closing(self._inner.stream(as_text(messages, tools), model=model)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text):
                        for out in _deltas(reader.feed(text)):
                            called = called or isinstance(out, ToolCall)
                            yield out
                    case Finished():
                        end = delta
                    case ToolCall():  # a model that can, after all
                        called = True
                        yield delta
                if reader.over:
                    break
        for out in _deltas(reader.finish()):
            called = called or isinstance(out, ToolCall)
            yield out
        reason = "tool_calls" if called else end.reason
        yield Finished(reason, end.tokens_in, end.tokens_out, end.model)


def names_of(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names in some schemas."""
    return [str(tool["function"]["name"]) for tool in tools]


def as_text(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The same conversation without `tools`, `tool_calls` and messages of role `tool`, which such a model has not.

    Results that belong together become one message of the user's. What users and results say cannot pose as a tag.
    """
    names, told = names_of(tools), []
    called = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(_result(called.get(message.get("tool_call_id"), ""), str(message["content"]), names))
            continue
        if results:
            told.append({"role": "user", "content": "\n".join(results)})
            results = []
        told.append(_told(message))
    if results:
        told.append({"role": "user", "content": "\n".join(results)})
    return _guided(told, tools)


def failed_with_tools(content: str, names: Sequence[str], *, message: str = "") -> str:
    """A result's JSON; of a failure, with the tools there are, and `message` for its own."""
    try:
        value = json.loads(content)
    except ValueError:
        return content
    if not isinstance(value, dict) or not isinstance(value.get("error"), dict):
        return content
    error = value["error"] | ({"type": MALFORMED, "message": message} if message else {})
    return json.dumps({**value, "error": error | {"tools": list(names)}}, ensure_ascii=False)


def call_of(piece: Call | Malformed) -> ToolCall:
    """What was read, as a native call would be; a malformed one under a name that no tool has."""
    id_ = f"call_{secrets.token_hex(8)}"
    if isinstance(piece, Call):
        return ToolCall(id_, piece.name, piece.arguments)
    return ToolCall(id_, MALFORMED, json.dumps({"text": piece.raw}, ensure_ascii=False))


def _deltas(pieces: Iterable[Piece]) -> list[Delta]:
    return [TextDelta(piece.text) if isinstance(piece, Words) else call_of(piece) for piece in pieces]


def _guided(messages: list[Json], tools: Sequence[Mapping[str, Any]]) -> list[Json]:
    if not tools:
        return messages
    schemas = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    guide = GUIDE.format(tools=schemas, call=CALL, end=CALL_END, result=RESULT, done=RESULT_END)
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{guide}"}, *messages[1:]]
    return [{"role": "system", "content": guide}, *messages]


def _told(message: Mapping[str, Any]) -> Json:
    content = message.get("content") or ""
    if message["role"] == "user" and isinstance(content, str):
        content = _defused(content)
    calls = [_written(call["function"]) for call in message.get("tool_calls") or ()]
    return {"role": message["role"], "content": "\n".join([content, *calls]).strip() if calls else content}


def _written(function: Mapping[str, Any]) -> str:
    """A call as the model wrote it."""
    if function["name"] == MALFORMED:
        return f"{CALL}{_raw(function['arguments'])}{CALL_END}"
    return f'{CALL}{{"name": {json.dumps(function["name"])}, "arguments": {function["arguments"] or "{}"}}}{CALL_END}'


def _raw(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["text"])
    except (ValueError, KeyError, TypeError):
        return "…"


def _result(name: str, content: str, names: Sequence[str]) -> str:
    told = failed_with_tools(content, names, message=FORM if name == MALFORMED else "")
    return f"{RESULT} name={json.dumps(name)}>{_defused(told)}{RESULT_END}"


def _defused(text: str) -> str:
    return text.replace("<function_", "&lt;function_").replace("</function_", "&lt;/function_")


@asynccontextmanager
async def _closing(stream: AsyncIterator[Delta]) -> AsyncIterator[AsyncIterator[Delta]]:
    """Close `stream` however the block ends: that is what closes the HTTP stream behind it."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
