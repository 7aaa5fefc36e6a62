"""The assistant Thinker keeps the user's reminders and notes."""

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="assistant",
    label="Assistant",
    description=(
        "the user's reminders ('remind me …': set, list, cancel), with the time as it was said; their notes: to make, "
        "list or snooze one, or that it is done; also their yes or no to a change that was just asked about, with the "
        "change named in full"
    ),
    example="Remind me in ten minutes to take the bread out.",
    examples=(
        "What reminders do I have?",
        "Make a note to call the plumber.",
        "That's done.",
    ),
    prompt=(
        "You keep the user's reminders with reminders, and their notes, things to come back to, with stickynotes. "
        "Reckon dates from today's, in the user's time zone, and send them as ISO; if a day or an hour is missing, ask "
        "for it. If a tool says that the user has to agree first, nothing has been done: say exactly what would be "
        "done, and ask. If the conversation shows that you have asked and the user now agrees, make the same call with "
        "the same arguments. Say only what the tools confirm as done."
    ),
    tools=(
        "reminders",
        "stickynotes",
        "remember_preference",
    ),
    cache_ttl_s=0,
    filler="Still looking it up.",
    preferences=("name", "time_zone"),
)
