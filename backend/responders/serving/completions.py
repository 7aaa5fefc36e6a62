"""`/v1/chat/completions` of a server that plays the API: the request is read, the answer sent whole or in chunks."""

import itertools
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.responses import JSONResponse, Response, StreamingResponse

_ids = itertools.count(1)


class BadChatRequest(Exception):
    """The request is not a valid chat completion request; it is answered with HTTP 400."""


class Called(Protocol):
    """One function call."""

    @property
    def name(self) -> str:
        """Return the function's name."""

    @property
    def arguments(self) -> str:
        """Return the arguments as JSON, valid or not."""


class Answered(Protocol):
    """An answer: words, or calls, or both."""

    @property
    def text(self) -> str:
        """Return the words."""

    @property
    def calls(self) -> Sequence[Called]:
        """Return the calls."""


Answer = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], Any], Answered]
"""(messages, tools, `tool_choice`) → the answer."""


@dataclass(frozen=True, slots=True)
class _Completion:
    """One answer, ready to be shown."""

    id: str
    model: str
    answered: Answered
    usage: dict[str, Any]

    @property
    def reason(self) -> str:
        return "tool_calls" if self.answered.calls else "stop"


async def complete(body: bytes, model: str, answer: Answer) -> Response:
    """Answer one request with the result of `answer`."""
    try:
        request = _read(body)
    except BadChatRequest as error:
        return _error(400, str(error), "invalid_request_error")
    answered = answer(request["messages"], request.get("tools") or [], request.get("tool_choice", "auto"))
    completion = _completion(request, model, answered)
    if not request.get("stream"):
        return JSONResponse(_whole(completion))
    with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    return StreamingResponse(_stream(completion, with_usage=with_usage), media_type="text/event-stream")


def _read(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except ValueError:
        raise BadChatRequest("The body is not valid JSON.") from None
    if not isinstance(request, dict) or not isinstance(request.get("model"), str):
        raise BadChatRequest("Missing required parameter: 'model'.")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise BadChatRequest("'messages' must be a non-empty list of objects.")
    _check_answers(messages)
    return request


def _check_answers(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check, as the real API does, that tool messages answer all tool calls and nothing else."""
    open_calls: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                raise BadChatRequest("Messages with role 'tool' must answer a preceding message with 'tool_calls'.")
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            raise BadChatRequest("An assistant message with 'tool_calls' must be followed by tool messages for each.")
        open_calls.update(call.get("id", "") for call in message.get("tool_calls") or [])
    if open_calls:
        raise BadChatRequest("An assistant message with 'tool_calls' must be followed by tool messages for each.")


def _completion(request: Mapping[str, Any], model: str, answered: Answered) -> _Completion:
    prompt = sum(len(str(message.get("content") or "")) for message in request["messages"]) // 4 + 1
    answer = (len(answered.text) + sum(len(call.arguments) for call in answered.calls)) // 4 + 1
    usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
    return _Completion(f"chatcmpl-{next(_ids)}", model, answered, usage)


def _whole(completion: _Completion) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": completion.answered.text or None, "refusal": None}
    if completion.answered.calls:
        message["tool_calls"] = [_call(completion, at) for at in range(len(completion.answered.calls))]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": completion.reason}
    return {**_head(completion, "chat.completion"), "choices": [choice], "usage": completion.usage}


async def _stream(completion: _Completion, *, with_usage: bool) -> AsyncIterator[str]:
    """Yield server-sent chunks: the role, a token each, the calls in pieces, the reason, the usage, `[DONE]`."""
    yield _chunk(completion, {"role": "assistant", "content": ""})
    for token in re.findall(r"\S+\s*", completion.answered.text):
        yield _chunk(completion, {"content": token})
    for at in range(len(completion.answered.calls)):
        for piece in _call_pieces(completion, at):
            yield _chunk(completion, {"tool_calls": [piece]})
    yield _chunk(completion, {}, completion.reason)
    if with_usage:
        yield _event({**_head(completion, "chat.completion.chunk"), "choices": [], "usage": completion.usage})
    yield "data: [DONE]\n\n"


def _call_pieces(completion: _Completion, at: int) -> list[dict[str, Any]]:
    """Return a call as the API streams it: name and id first, then its arguments in two halves."""
    call = _call(completion, at)
    arguments = call["function"]["arguments"]
    half = len(arguments) // 2
    first = {"index": at, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
    return [first, *({"index": at, "function": {"arguments": part}} for part in (arguments[:half], arguments[half:]))]


def _call(completion: _Completion, at: int) -> dict[str, Any]:
    call = completion.answered.calls[at]
    return {
        "id": f"call_{completion.id}_{at}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _chunk(completion: _Completion, delta: dict[str, Any], reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return _event({**_head(completion, "chat.completion.chunk"), "choices": [choice]})


def _head(completion: _Completion, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": int(time.time()), "model": completion.model}


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _error(status: int, message: str, kind: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status_code=status)
