"""This tool describes the active mode, or a named one, to the user: its manner, model and instructions."""

from typing import Annotated

from pydantic import Field

from backend.storage.memory import Memory
from backend.tools.base import OURS, Result, ToolContext, tool
from backend.users.modes import Modes
from backend.users.profile import load_profile


@tool(
    "get_personality",
    "The assistant's own mode: its personality, what it is told, its model; of the mode that is on, or of a named one.",
    cache=False,
    always=True,
    clients=OURS | {"copilot"},
)
async def get_personality(
    context: ToolContext,
    memory: Memory,
    modes: Modes,
    mode: Annotated[str, Field(max_length=32, description="The mode to tell of; empty: the one that is on.")] = "",
) -> Result:
    """Return the description of a mode. Raises `NotFound` for an unknown mode, or `MemoryUnavailable`."""
    on = modes.get(context.mode) if context.mode else modes.named("")
    if not context.mode and context.user_id:
        on = modes.chosen(await load_profile(memory, context.user_id))
    asked = modes.get(name) if (name := mode.strip().lower()) else on
    is_on = asked.name == on.name
    manner = asked.description or asked.personality
    return Result(
        {
            "mode": asked.name,
            "description": asked.description,
            "personality": asked.personality or "as usual",
            "told": asked.prompt or "nothing besides its task",
            "model": asked.model or "usual",
            "is_on": is_on,
            "modes": list(modes.names),
        },
        spoken=f"The mode {asked.name} is {'' if is_on else 'not '}on. {manner}".strip(),
    )
