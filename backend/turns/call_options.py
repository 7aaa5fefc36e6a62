"""The choices of a caller's program for its call: its own instructions and tools, and how turns are taken.

A call from our page has none of these options; one over the Realtime protocol always has them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.turns.value_object import ValueObject

OUR_TOOLS = frozenset({"route_to_thinker", "wait_for_user"})
"""Names that a client's tool cannot have."""


class ClientTool(ValueObject):
    """A function that the client carries out itself."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The arguments as JSON Schema."""


class CallOptions(ValueObject):
    """The options of one call, which may change while it lasts."""

    instructions: str = ""
    """The character that takes the place of the usual one; empty: the usual one."""
    tools: tuple[ClientTool, ...] = ()
    tool_choice: Any = "auto"
    """The use of tools: `auto`, `none`, `required`, or the tool that the model must call, as in the Realtime API."""
    thinkers: bool = True
    """The server offers its Thinkers, speaks fillers by itself, and stays silent when it is not addressed."""
    voice: str = ""
    """The voice of the assistant; empty: the voice of the server's settings."""
    detects_turns: bool = True
    """The server detects where the caller's turns begin and end; otherwise the client hands them in."""
    answers: bool = True
    """A turn that the server detected is answered; otherwise the client asks for each reply."""
    style: EndpointingStyle | None = None
    """The endpointing style of this call; None: the style of the server's settings."""
    idle_nudge_s: float = 0
    """Seconds of silence after which the caller is asked whether they are still there; 0: never."""

    def limits(self, usual: TurnLimits) -> TurnLimits:
        """Return the limits of a call with these options; a client may stay silent without a limit."""
        limits = replace(
            usual,
            style=self.style or usual.style,
            greeting=False,
            idle_nudge_s=self.idle_nudge_s,
            idle_disconnect_s=0,
            filler_after_s=usual.filler_after_s if self.thinkers else 0,
        )
        return limits if self.detects_turns else replace(limits, endpointing="local")

    def is_client_tool(self, name: str) -> bool:
        """Return whether the client carries out the tool of that name."""
        return any(tool.name == name for tool in self.tools)
