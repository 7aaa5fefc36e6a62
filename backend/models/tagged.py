"""A `ChatModel` for models without native tool calls: it describes the tools in text, and parses calls from text.

The agent loop sees no difference: the same messages and tools go in, and the same `ToolCall`s come out. For the model,
calls and results are tagged text; `tags` documents the grammar.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import aclosing
from itertools import groupby

from backend.models.base import ChatMessage, ChatModel, Delta, Finished, FunctionCall, TextDelta, ToolCall
from backend.models.options import USUAL, ModelOptions
from backend.models.tags import CALL, CALL_END, MALFORMED, RESULT, RESULT_END, TagReader
from backend.runtime.json_objects import Json

GUIDE = """\
You can call these functions (JSON Schemas of their arguments):
{tools}

To call one, write exactly this, and nothing after it:
{call}{{"name": "the function's name", "arguments": {{…}}}}{end}
Several calls may follow each other. Then stop: the results come with the next message, between {result} … > and \
{done}. Never write results yourself. When you need no function, just answer."""
FORM = f'That was no function call. Write {CALL}{{"name": "…", "arguments": {{…}}}}{CALL_END} with valid JSON.'


class TaggedChatModel:
    """A wrapper of `inner` that changes only requests for one of `models`; None: all requests."""

    def __init__(self, inner: ChatModel, models: Collection[str] | None = None) -> None:
        self._inner = inner
        self._models = models

    async def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of an answer as `ChatModel.stream` does; output after a call is dropped."""
        if self._models is not None and model not in self._models:
            async with aclosing(self._inner.stream(messages, model=model, tools=tools, options=options)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        reader = TagReader()
        called, end = False, Finished("stop")
        async with aclosing(self._inner.stream(as_text(messages, tools), model=model, options=options)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text):
                        for out in reader.feed(text):
                            called = called or isinstance(out, ToolCall)
                            yield out
                    case Finished():
                        end = delta
                    case ToolCall():  # this model has native tool calls after all
                        called = True
                        yield delta
                if reader.over:
                    break
        for out in reader.finish():
            called = called or isinstance(out, ToolCall)
            yield out
        reason = "tool_calls" if called else end.reason
        yield Finished(reason, end.tokens_in, end.tokens_out, end.model)


def names_of(tools: Iterable[Json]) -> list[str]:
    """Return the names in these schemas."""
    return [str(tool["function"]["name"]) for tool in tools]


def as_text(messages: Sequence[ChatMessage], tools: Sequence[Json]) -> list[ChatMessage]:
    """Return the conversation as text, for a model that knows no `tools`, `tool_calls` and messages of role `tool`.

    Results that belong together become one message of the user. Text of users and results cannot pose as a tag.
    """
    names, text = names_of(tools), list[ChatMessage]()
    called = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    for is_result, group in groupby(messages, lambda message: message["role"] == "tool"):
        if is_result:
            results = (
                _result(called.get(each.get("tool_call_id") or "", ""), each["content"], names) for each in group
            )
            text.append({"role": "user", "content": "\n".join(results)})
        else:
            text += map(_as_text, group)
    return _guided(text, tools)


def failed_with_tools(content: str, names: Sequence[str], *, message: str = "") -> str:
    """Return a result's JSON; for a failure, with the existing tools added, and `message` in place of its own."""
    try:
        value = json.loads(content)
    except ValueError:
        return content
    if not isinstance(value, dict) or not isinstance(value.get("error"), dict):
        return content
    error = value["error"] | ({"type": MALFORMED, "message": message} if message else {})
    return json.dumps({**value, "error": error | {"tools": list(names)}}, ensure_ascii=False)


def _guided(messages: list[ChatMessage], tools: Sequence[Json]) -> list[ChatMessage]:
    if not tools:
        return messages
    schemas = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    guide = GUIDE.format(tools=schemas, call=CALL, end=CALL_END, result=RESULT, done=RESULT_END)
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{guide}"}, *messages[1:]]
    return [{"role": "system", "content": guide}, *messages]


def _as_text(message: ChatMessage) -> ChatMessage:
    content = _defused(message["content"]) if message["role"] == "user" else message["content"]
    calls = [_written(call["function"]) for call in message.get("tool_calls") or ()]
    return {"role": message["role"], "content": "\n".join([content, *calls]).strip() if calls else content}


def _written(function: FunctionCall) -> str:
    """Return a call as the model wrote it."""
    if function["name"] == MALFORMED:
        return f"{CALL}{_raw(function['arguments'])}{CALL_END}"
    return f'{CALL}{{"name": {json.dumps(function["name"])}, "arguments": {function["arguments"] or "{}"}}}{CALL_END}'


def _raw(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["text"])
    except (ValueError, KeyError, TypeError):
        return "…"


def _result(name: str, content: str, names: Sequence[str]) -> str:
    shown = failed_with_tools(content, names, message=FORM if name == MALFORMED else "")
    return f"{RESULT} name={json.dumps(name)}>{_defused(shown)}{RESULT_END}"


def _defused(text: str) -> str:
    return text.replace("<function_", "&lt;function_").replace("</function_", "&lt;/function_")
