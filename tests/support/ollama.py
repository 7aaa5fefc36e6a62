"""A server that answers as Ollama's does, for tests: a model is pulled, listed, and asked for chat completions.

What it sends has the fields that Ollama's server sends: each piece names the role, a tool call comes whole, and tokens
are counted only where a client asks for it. It refuses what that server refuses. What the model says, a test decides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backend.testing.services.server import ApiServer, Reply, Request, json_reply, serving

Json = dict[str, Any]
Said = Sequence[str | float | tuple[str, Json]]
"""Pieces of text, pauses in seconds, and calls: a tool's name and its arguments."""
PROGRAM = """#!{python}
import json, os, sys, urllib.request

command, model = sys.argv[1:]
assert command == "pull", command
body = json.dumps({{"model": model}}).encode()
with urllib.request.urlopen(f"http://{{os.environ['OLLAMA_HOST']}}/api/pull", body, timeout=10) as answer:
    for line in answer:
        print(json.loads(line)["status"])
"""
"""Stands for the program `ollama`: it has the server pull a model, as that does."""


@dataclass
class Ollama:
    """The running server. `says` is given a request's messages and the names of its tools."""

    says: Callable[[list[Json], list[str]], Said]
    server: ApiServer | None = None
    pulled: set[str] = field(default_factory=set)
    asked: list[Json] = field(default_factory=list)
    """Every chat completion that was asked for, oldest first."""
    faults: list[str] = field(default_factory=list)
    """What was refused."""

    @property
    def api(self) -> ApiServer:
        assert self.server
        return self.server

    def program(self, folder: Path) -> None:
        """Write the program `ollama` into a folder, which is to stand in PATH."""
        path = folder / "ollama"
        path.write_text(PROGRAM.format(python=sys.executable))
        path.chmod(0o755)

    def answer(self, request: Request) -> Reply:
        """Answer one request."""
        match request.method, request.path:
            case "POST", "/api/pull":
                self.pulled.add(_full(request.json()["model"]))
                lines = [json.dumps({"status": status}).encode() + b"\n" for status in ("pulling manifest", "success")]
                return Reply(content_type="application/x-ndjson", parts=lines)
            case "GET", "/v1/models":
                models = [{"id": name, "object": "model", "created": 1, "owned_by": "library"} for name in self.pulled]
                return json_reply({"object": "list", "data": models})
            case "POST", "/v1/chat/completions":
                return self._completion(request.json())
        return self._refused(404, "not_found_error", f"{request.method} {request.path}: 404 page not found")

    def _completion(self, body: Json) -> Reply:
        self.asked.append(body)
        if not body["messages"]:
            return self._refused(400, "invalid_request_error", "[] is too short - 'messages'")
        for message in body["messages"]:
            if not isinstance(message.get("content"), str | list) and not message.get("tool_calls"):
                return self._refused(400, "invalid_request_error", "invalid message content type: <nil>")
        if _full(body["model"]) not in self.pulled:
            return self._refused(404, "not_found_error", f"model {body['model']!r} not found")
        said = self.says(body["messages"], [tool["function"]["name"] for tool in body.get("tools") or ()])
        return _streamed(body, said) if body.get("stream") else _whole(body, said)

    def _refused(self, status: int, kind: str, message: str) -> Reply:
        self.faults.append(message)
        return json_reply({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def _full(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def _streamed(body: Json, said: Said) -> Reply:
    called = any(isinstance(part, tuple) for part in said)
    parts: list[bytes | float] = []
    for number, part in enumerate(said):
        match part:
            case float():
                parts.append(part)
            case str():
                parts.append(_chunk(body, [_choice(part)]))
            case (name, arguments):
                parts.append(_chunk(body, [_choice("", [_call(number, name, arguments)])]))
    parts.append(_chunk(body, [_choice("", finish="tool_calls" if called else "stop")]))
    if (body.get("stream_options") or {}).get("include_usage"):
        parts.append(_chunk(body, [], usage=_USAGE))
    return Reply(content_type="text/event-stream", parts=[*parts, b"data: [DONE]\n\n"])


def _whole(body: Json, said: Said) -> Reply:
    calls = [_call(number, *part) for number, part in enumerate(said) if isinstance(part, tuple)]
    message: Json = {"role": "assistant", "content": "".join(part for part in said if isinstance(part, str))}
    choice = {
        "index": 0,
        "message": message | ({"tool_calls": calls} if calls else {}),
        "finish_reason": "tool_calls" if calls else "stop",
    }
    return json_reply(_head(body, "chat.completion") | {"choices": [choice], "usage": _USAGE})


_USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


def _head(body: Json, kind: str) -> Json:
    return {"id": "chatcmpl-7", "object": kind, "created": 1, "model": body["model"], "system_fingerprint": "fp_ollama"}


def _chunk(body: Json, choices: list[Json], **more: Any) -> bytes:
    return f"data: {json.dumps(_head(body, 'chat.completion.chunk') | {'choices': choices} | more)}\n\n".encode()


def _choice(text: str, calls: list[Json] | None = None, finish: str | None = None) -> Json:
    delta = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _call(number: int, name: str, arguments: Json) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "index": 0, "type": "function", "function": function}


@asynccontextmanager
async def ollama(says: Callable[[list[Json], list[str]], Said]) -> AsyncIterator[Ollama]:
    """A running server whose model says what `says` returns; it has no model until one is pulled."""
    here = Ollama(says)
    async with serving(here.answer) as server:
        here.server = server
        yield here
