"""The user's background tasks: how they are going, what came of them, and stopping one.

It never begins such work itself: the Thinkers that may take minutes do, when they are asked to or run out of time
(see `thinkers/dispatcher.py`). Nothing is cached, since a task's state changes while the user asks.
"""

from __future__ import annotations

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="tasks",
    label="Your tasks",
    description=(
        "research and other long work asked for earlier: its progress and status, what came of it, what it found "
        "out, stopping it"
    ),
    example="What about that research?",
    examples=(
        "How is my research going?",
        "Cancel the research, stop working on it.",
        "What did you find out?",
    ),
    prompt=(
        "You answer questions about work that was begun for the user earlier and goes on, or went on, in the "
        "background. Use background_tasks: get for what came of one (the newest, unless they name another: then list "
        "first), list for several, cancel when they want one stopped. Tell the gist of a result in two or three "
        "sentences. Never begin such work yourself."
    ),
    tools=("background_tasks",),
    cache_ttl_s=0,
    filler="Just looking at how far it is.",
    phrases=(
        "Forget that research.",
        "Is the report ready that I asked for?",
        "List what you are doing in the background.",
        "How far is the task?",
        "Any progress on that?",
        "Any news on my research?",
        "How much longer do you need for the report?",
        "Are you finished with the comparison?",
        "Are you still researching?",
        "Have you found anything yet?",
        "Did your search turn anything up?",
        "What did the research say?",
        "What's the result of your search?",
        "Give me the findings of the report I ordered.",
        "Is my report done?",
        "What are you working on?",
        "What is running in the background?",
        "Stop researching that.",
        "Cancel that report.",
        "Abort the research.",
        "I don't need that report any more, cancel it.",
        "You needn't look any further.",
        "What are you busy with?",
    ),
)
