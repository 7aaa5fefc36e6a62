"""Everything the model knows by itself: facts, explanations, advice, sums.

Questions of unknown domains come here, too, so that a routing mistake costs a general answer instead of none. It is
shown the conversation and the summary of earlier ones, which explain what words like 'it' mean.
"""

from __future__ import annotations

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
        "Who wrote Hamlet?",
        "What is the capital of France?",
        "How does photosynthesis work?",
        "What does this word mean?",
        "Tell me about the history of dinosaurs.",
        "Tell me about Rome.",
        "What time is it in Japan?",
        "Do you know who discovered America?",
        "How many teeth does a dog have?",
        "How far away is the moon?",
        "What is gravity?",
        "Why do birds sing?",
        "Who composed that song?",
        "When was the bridge built?",
        "Where do kangaroos live?",
        "Which planet is the largest?",
        "What's the biggest city in Canada?",
        "How do you say thank you in Spanish?",
        "Give me a recipe for soup.",
        "How does a pump work?",
        "When did the war end?",
        "How long do I cook rice?",
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
    takes_unknown=True,
)
