"""The tasks Thinker reports the progress and results of the user's background tasks, and stops them.

It never begins such work: Thinkers that may take minutes do, on request or at their deadline (see
`thinkers/dispatcher.py`). Nothing is cached, since a task's state changes while the user asks.
"""

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
)
