"""The user's own memories, their standing instructions, and the assistant's personality and mode."""

from __future__ import annotations

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
    phrases=(
        "What do you know about me?",
        "What is my name?",
        "Where do I live?",
        "I live in Leeds, and I have a dog.",
        "Never bring up football.",
        "Who is my hairdresser?",
        "How many pets do I have?",
        "What's the name of my boss?",
        "Speak louder from now on, and don't call me by my first name.",
        "What did I tell you about the garage?",
        "Remember that I drink my tea without milk.",
        "Remember my favorite color is green.",
        "Please remember that my aunt lives in Leeds.",
        "Keep in mind that I hate mushrooms.",
        "Keep in mind that I have a bad back.",
        "Don't forget that I have two cats.",
        "Don't forget my son plays the drums.",
        "I want you to know that I work at night.",
        "For the future, know that I'm left-handed.",
        "What did I say about my neighbor?",
        "What can you recall of my holiday plans?",
        "Do you know my address?",
        "Do you still know my son's name?",
        "What's my dress size?",
        "What is my license plate?",
        "What's my wife's birthday?",
        "Who is my doctor?",
        "Who is my best friend?",
        "When is my wedding day?",
        "Where did I leave my glasses?",
        "Where did I hide the presents?",
        "Where are my gloves?",
        "Which school do my kids go to?",
        "How old is my cousin?",
        "How do I like my coffee?",
        "What do I like to eat?",
        "Forget what I told you about my job.",
        "Forget my phone number.",
        "Forget that I like jazz.",
        "Delete what you know about my family.",
        "Erase everything you remember of me.",
        "From now on speak slowly.",
        "Always answer in full sentences.",
        "Always call me sir.",
        "Never say sorry to me.",
        "Never use difficult words.",
        "In future, give temperatures in Celsius.",
        "Please don't use my name any more.",
        "Talk to me like a pirate from now on.",
        "Which instructions have I given you?",
        "Stop following my instruction about rhymes.",
        "What mode are you in?",
        "What is your character like?",
        "Who is my lawyer?",
    ),
)
