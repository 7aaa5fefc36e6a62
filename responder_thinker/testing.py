"""The names for testing a Thinker, a tool or a step without a key. See docs/howto/testing.md."""

from backend.testing import (
    FakeMemory,
    FakeTracer,
    FakeTransport,
    ScriptedModel,
    ScriptedResponder,
    World,
    run_step,
    run_thinker,
    run_tool,
    tool_call,
)

__all__ = [
    "FakeMemory",
    "FakeTracer",
    "FakeTransport",
    "ScriptedModel",
    "ScriptedResponder",
    "World",
    "run_step",
    "run_thinker",
    "run_tool",
    "tool_call",
]
