"""The names for testing a Thinker, a tool or a step without a key. See docs/howto/testing.md.

`run_thinker`, `run_tool` and `run_step` run one plugin as the server would. `ScriptedModel` plays the text model, and
`FakeMemory` Redis.
"""

from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel, tool_call
from backend.testing.plugins import World, run_step, run_thinker, run_tool

__all__ = ["FakeMemory", "ScriptedModel", "World", "run_step", "run_thinker", "run_tool", "tool_call"]
