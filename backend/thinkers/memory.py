"""The memory Thinker serves the user's memories, standing instructions, and the assistant's personality and mode."""

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="memory",
    label="Memory",
    description=(
        "whatever the user asks to have remembered or forgotten (nothing else keeps it), and what they have had "
        "remembered about themselves, their people and things; how they want to be answered from now on, their "
        "standing instructions; your own personality and mode"
    ),
    example="Remember that my sister's name is Anna.",
    examples=(
        "What do you know about my sister?",
        "From now on, answer in one sentence.",
        "Forget that.",
        "Where is my bike?",
        "What is your personality?",
    ),
    prompt=(
        "You keep what the user wants remembered. Use memory for facts and wishes, manage_prompt for how they want to "
        "be answered from now on, remember_preference for their name, home, temperature unit and shares, and "
        "get_personality for questions about your own manner or mode. Asked what you know about something, search; "
        "what you are shown of earlier conversations counts, too. 'Forget that' means what was remembered or said "
        "last: the conversation shows what it was; find its id, then delete it. Say in one sentence what is now "
        "remembered, forgotten or held to, speaking to the user: 'your sister', not 'my sister'. Say only what the "
        "tools confirm as done."
    ),
    tools=("memory", "manage_prompt", "get_personality", "remember_preference"),
    cache_ttl_s=0,
    filler="Just looking through my memory.",
    preferences=("name", "time_zone"),
)
