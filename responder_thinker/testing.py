"""The names for testing a Thinker, a tool or a step without a key. See docs/howto/testing.md.

`run_thinker`, `run_tool` and `run_step` run one plugin as the server would. `ScriptedModel` plays the text model,
`ScriptedResponder` the Realtime API, `FakeTransport` a caller, `FakeMemory` Redis, and `FakeTracer` keeps traces.
"""

from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel, tool_call
from backend.testing.plugins import World, run_step, run_thinker, run_tool
from backend.testing.responder import ScriptedResponder
from backend.testing.tracer import FakeTracer
from backend.testing.transport import FakeTransport

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
