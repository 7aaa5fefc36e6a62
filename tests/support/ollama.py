"""A server that answers as Ollama's does, for tests: a model is pulled, listed, and asked for chat completions.

Each piece names the role, and a tool call comes whole. It refuses what that server refuses. What the model says, a test
decides.
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
from tests.support.chat_api import chunk, ended, stream

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
        return _streamed(said)

    def _refused(self, status: int, kind: str, message: str) -> Reply:
        self.faults.append(message)
        return json_reply({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def _full(model: str) -> str:
    return model if ":" in model else f"{model}:latest"


def _streamed(said: Said) -> Reply:
    """The answer in pieces, each of which names the role; a tool call comes whole."""
    pieces = [part if isinstance(part, float) else _piece(number, part) for number, part in enumerate(said)]
    return stream(pieces, ended("tool_calls" if any(isinstance(part, tuple) for part in said) else "stop"))


def _piece(number: int, part: str | tuple[str, Json]) -> bytes:
    if isinstance(part, str):
        return chunk({"role": "assistant", "content": part})
    name, arguments = part
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "index": 0, "type": "function", "function": function}
    return chunk({"role": "assistant", "content": "", "tool_calls": [call]})


@asynccontextmanager
async def ollama(says: Callable[[list[Json], list[str]], Said]) -> AsyncIterator[Ollama]:
    """A running server with a model that says what `says` returns; it has no model until one is pulled."""
    here = Ollama(says)
    async with serving(here.answer) as server:
        here.server = server
        yield here
