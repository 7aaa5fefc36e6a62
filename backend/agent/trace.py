"""Turns the agent's events into spans: one for each request to a model, one for each tool call.

The spans open under the current one, which is the Thinker's.
"""

from __future__ import annotations

import asyncio

from backend.agent.events import AgentEvent, ModelAnswered, ModelAsked, StateChanged, TurnState
from backend.observability.tracing import NO_SPAN, Outcome, Span, current_span
from backend.page_events import TokenGenerated, ToolCallFinished, ToolCallStarted
from backend.tools.base import ToolContext
from backend.tools.runner import Toolbox, ToolResult

UNKNOWN_TOOL = "unknown_tool"
"""A name the model made up stays out of the trace."""
BROKEN_OFF: dict[TurnState, Outcome] = {TurnState.CANCELLED: "cancelled", TurnState.ERROR: "failed"}


class AgentTrace:
    """Follows one session's events. Of a private session it keeps no words."""

    def __init__(self, *, private: bool = False) -> None:
        self._private = private
        self._model: Span = NO_SPAN
        self._tools: dict[str, Span] = {}

    def __repr__(self) -> str:
        return f"AgentTrace({len(self._tools)} tool calls open)"

    def follow(self, event: AgentEvent) -> None:
        """Open, describe or end the span of the event."""
        match event:
            case TokenGenerated():
                pass  # by far the most events: matched first
            case ModelAsked(model, messages, tools):
                self._model = span = current_span().open("model", model)
                span.note(tools=tools)
                if not self._private:
                    span.asked(messages)
            case ModelAnswered():
                span, self._model = self._model, NO_SPAN
                first = None if event.first_token_ms is None else round(event.first_token_ms, 1)
                span.note(model=event.model, reason=event.reason, calls=len(event.calls), first_token_ms=first)
                span.note(tokens_in=event.tokens_in, tokens_out=event.tokens_out)
                if not self._private:
                    span.said(event.text)
                span.spent(event.tokens_in + event.tokens_out)
                span.end()
            case ToolCallStarted(id_, name, arguments):
                self._tools[id_] = span = current_span().open("tool", name)
                if not self._private:
                    span.asked(arguments)
            case ToolCallFinished():
                end_tool(self._tools.pop(event.id, NO_SPAN), event, private=self._private)
            case StateChanged(state) if outcome := BROKEN_OFF.get(state):
                for span in (self._model, *self._tools.values()):
                    span.end(outcome)
                self._model = NO_SPAN
                self._tools.clear()


async def traced_call(box: Toolbox, name: str, arguments: str, tool_context: ToolContext) -> ToolResult:
    """Make a tool call that a Thinker wants itself, without a model in between."""
    span = current_span().open("tool", name)
    span.asked(arguments)
    try:
        result = await box.run(name, arguments, tool_context)
    except asyncio.CancelledError:
        span.end("cancelled")
        raise
    end_tool(span, result)
    return result


def end_tool(span: Span, result: ToolCallFinished | ToolResult, *, private: bool = False) -> None:
    """End the span of a tool call, whether the model made it or a Thinker."""
    if result.error == UNKNOWN_TOOL:
        span.rename(UNKNOWN_TOOL)
    span.note(error=result.error, source=None if result.error else "sample" if result.sample else "live")
    if not private:
        span.said(result.content)
    span.end("failed" if result.error else "complete")
