"""A Thinker that answers after as many seconds as its query says, like a slow tool."""

import asyncio

from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun

MANIFEST = Manifest(
    domain="almanac",
    label="Almanac",
    description="what is in the almanac",
    example="What does the almanac say?",
    prompt="Answer from the almanac.",
    cache_ttl_s=0,
)
STEPS = 4
"""Steps of progress that the page shows."""


async def think(run: ThinkerRun) -> Answer:
    """Return an answer after that many seconds."""
    seconds = float(run.question.query)
    for step in range(STEPS):
        run.progress(f"page {step + 1} of {STEPS}")
        await asyncio.sleep(seconds / STEPS)
    return Answer("It is in the almanac.", "live")
