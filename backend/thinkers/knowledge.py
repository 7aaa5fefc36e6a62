"""The knowledge Thinker answers from the model's own knowledge: facts, explanations, advice, sums.

It also gets questions of unknown domains, so that a routing mistake costs a general answer instead of none. It sees the
last four turns and the summary of earlier conversations, which explain words like 'it'; with more, answers could not be
cached.
"""

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="knowledge",
    label="Knowledge",
    description=(
        "facts, explanations, history, science, recipes, translations, advice, sums and anything else that needs "
        "thought and fits no other domain"
    ),
    example="Why is the sky blue?",
    examples=(
        "How does photosynthesis work?",
        "What time is it in Japan?",
        "How do you say thank you in Spanish?",
        "Give me a recipe for soup.",
    ),
    prompt=(
        "You are a knowledgeable, careful companion. Answer the question from what you know. If it needs facts newer "
        "than your knowledge, or you are not sure, say so plainly. The conversation so far may say what words like "
        "'it' and 'that' mean."
    ),
    tier="advanced",
    filler="Let me think about that a little longer.",
    history_turns=4,
    preferences=("name", "language", "time_zone"),
    summary=True,
)
