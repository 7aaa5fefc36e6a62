"""This step describes the speaker: name, home, preferences, and noted facts."""

from backend.agent.context import Note
from backend.middleware.base import Asked, StepOptions, step
from backend.storage.memory import Memory
from backend.users.profile import load_profile

TITLE = "Who is speaking, as they have said of themselves"


@step(
    "speaker_facts",
    stage="pre",
    domains=("knowledge", "assistant", "reason", "memory"),  # Other Thinkers get only what their manifests ask for.
    options={"facts": 10},
    deadline_s=0.5,
)
async def speaker_facts(asked: Asked, memory: Memory, options: StepOptions) -> Note | None:
    """Return the profile with up to `facts` of the newest facts. Raises `MemoryUnavailable`."""
    if not asked.user_id:
        return None
    known = await load_profile(memory, asked.user_id)
    shown = known.preferences.of_user()
    newest = known.facts[-int(options.values["facts"]) :] if options.values["facts"] else ()
    if newest:
        shown["facts"] = list(newest)
    return Note(TITLE, shown) if shown else None
