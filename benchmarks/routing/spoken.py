"""Questions spoken by synthetic voices of three families, and what our recognition makes of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from backend.extensions.local.dialogue.routing import Router
from backend.extensions.local.recognition.choose import open_recognizer
from benchmarks.recognition.sounds import in_quiet
from benchmarks.routing.asked import Asked


def heard_by_family(questions: Sequence[Asked], router: Router) -> dict[str, list[str]]:
    """Return, for each voice family, the transcripts of the questions, in their order."""
    return asyncio.run(_heard([each.words for each in questions], router))


async def _heard(texts: Sequence[str], router: Router) -> dict[str, list[str]]:
    recognizer, pool = open_recognizer()
    transcripts: dict[str, list[str]] = defaultdict(list)
    try:
        await pool.wait_until_ready()
        for each in in_quiet(texts):
            utterance = recognizer.start()
            utterance.feed(each.pcm)
            words = await utterance.finish()
            transcripts[each.family].append(router.likeliest([(words, 0.0), *utterance.others]))
    finally:
        await pool.close()
    return dict(transcripts)
