"""Dual reasoning, shown: two scripted models on a local chat server, one that plans and one that has the tools."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape

from backend.agent.session import Agent
from backend.models.chat_completions import ChatCompletions
from backend.models.tagged import TaggedChatModel
from backend.reasoning.base import Stage
from backend.reasoning.reasoner import Reasoner
from backend.testing.services.server import Reply, Request, serving
from backend.tools import calculate
from backend.tools.registry import tools_of
from backend.tools.runner import Toolbox

TASK = "Three tickets cost twelve dollars each. What change do I get from fifty?"
SCRIPT = {
    "planner": [
        "<instruction>Compute what three tickets at 12 dollars leave of 50.</instruction>",
        "TASK_DONE <instruction>Deliver the change in one sentence.</instruction>",
    ],
    "executor": [
        '<function_call>{"name": "calculate", "arguments": {"expression": "50 - 3 * 12"}}</function_call>\n'
        "The result is 41.",  # made up: it comes out nowhere
        "50 - 3 * 12 is 14.",
        "<deliverable>You get 14 dollars back: the tickets cost 36.</deliverable>",
    ],
}


async def run(console: Console) -> int:
    """The exit code: 0 if the deliverable came without the thoughts behind it."""
    script = {name: list(lines) for name, lines in SCRIPT.items()}
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        name = request.json()["model"]
        asked.append(name)
        return _stream(script[name].pop(0))

    stages: list[Stage] = []
    async with serving(answer) as server:
        chat = ChatCompletions(base_url=server.url, api_key="none")
        try:
            # neither scripted model calls tools natively: the executor writes its calls between tags
            agent = Agent(TaggedChatModel(chat), Toolbox(tools_of(calculate), {}), "planner")
            reasoner = Reasoner(agent, planner="planner", executor="executor")
            reasoned = await reasoner.infer(TASK, "dual", on_stage=stages.append)
        finally:
            await chat.close()
    console.print("[bold]Dual reasoning[/] with two scripted models on a local chat server")
    console.print(f"  task      {TASK}")
    for stage in stages:
        console.print(f"  round {stage.round}   {escape(stage.detail)}")
    console.print(f"  asked     {', '.join(asked)}")
    console.print(f"  {reasoned.state}  {escape(reasoned.text)}")
    console.print(f"            {reasoned.rounds} rounds, {reasoned.tool_calls} tool call, {reasoned.tokens} tokens")
    well = reasoned.state == "complete" and "14" in reasoned.text and "41" not in reasoned.text
    console.print("[green]✓[/] delivered" if well else "[red]✗[/] that is not what should have happened")
    return 0 if well else 1


def _stream(text: str) -> Reply:
    """An answer as the chat completions API streams it."""
    pieces = [text[at : at + 12] for at in range(0, len(text), 12)]
    usage = {"prompt_tokens": 40, "completion_tokens": len(pieces), "total_tokens": 40 + len(pieces)}
    chunks: list[dict[str, Any]] = [*({"choices": [_choice({"content": piece})]} for piece in pieces)]
    chunks += [{"choices": [_choice({}, "stop")]}, {"choices": [], "usage": usage}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    parts = [f"data: {json.dumps(head | chunk)}\n\n".encode() for chunk in chunks]
    return Reply(content_type="text/event-stream", parts=[*parts, b"data: [DONE]\n\n"])


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
