"""The chat completions API's streaming JSON, as OpenAI documents it, for scripted servers."""

import json
from collections.abc import Sequence
from typing import Any

from backend.testing.services.server import Reply, json_reply


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One `chat.completion.chunk` as a server-sent event."""
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}], "usage": None})


def event(fields: dict[str, Any]) -> bytes:
    """A chunk with the given fields."""
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"} | fields
    return f"data: {json.dumps(whole)}\n\n".encode()


def usage(tokens_in: int = 10, tokens_out: int = 5) -> bytes:
    """The last chunk: no choices, only usage."""
    bill = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return event({"choices": [], "usage": bill})


DONE = b"data: [DONE]\n\n"


def words(*texts: str) -> list[bytes | float]:
    """A whole answer in these pieces."""
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]


def ended(reason: str = "stop") -> list[bytes | float]:
    """The end of a stream, with its usage."""
    return [chunk({}, reason), usage(), DONE]


def call_pieces(index: int, id_: str, name: str, *arguments: str) -> list[bytes | float]:
    """A tool call, its arguments in pieces."""
    first = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": index, "function": {"arguments": piece}} for piece in arguments]
    return [chunk({"tool_calls": [call]}) for call in (first, *rest)]


def stream(*parts: Sequence[bytes | float], breaks_off: bool = False) -> Reply:
    """A streamed answer."""
    flat = [part for group in parts for part in group]
    return Reply(content_type="text/event-stream", parts=flat, breaks_off=breaks_off)


def error(status: int, code: str | None = None, headers: dict[str, str] | None = None) -> Reply:
    """An error in the API's form."""
    problem = {"message": "no", "type": "error", "param": None, "code": code}
    return json_reply({"error": problem}, status, headers=headers)
