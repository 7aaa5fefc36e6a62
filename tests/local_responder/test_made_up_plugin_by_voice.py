"""A plugin made up on the spot is asked by voice, without a model: its tool gets what was said, its result is heard.

Everything is real: the server with the local Responder, a call over WebRTC, voices of two families, recognition.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from local_responder.recognition.choose import open_recognizer
from local_responder.synthesis.voice import speak
from tests.local_responder.test_made_up_plugin import FERRIES, PAINT
from tests.support.hearing import recognized, share_of_words
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

ANSWER_WITHIN_S = 20.0
QUESTIONS = (
    ("paint", "How much blue paint do I need for a wall of forty square meters?", "Liters: 5.0; paint: blue."),
    ("ferries", "Is there a ferry from Calais on Friday?", "Ferry: from Calais at half past nine; day: Friday."),
)


@pytest.mark.slow
@pytest.mark.realtime
async def test_spoken_questions_reach_the_plugins_tools_and_their_results_are_heard(tmp_path: Path) -> None:
    (tmp_path / "ferries.py").write_text(FERRIES)
    (tmp_path / "paint.py").write_text(PAINT)
    recognizer, pool = open_recognizer()
    try:
        with running_server(PLUGIN_FOLDERS=str(tmp_path)) as server:
            for voice in ("hibari", "flite"):
                async with placed_call(server, within_s=30) as call:
                    for domain, question, answer in QUESTIONS:
                        pcm = await told_and_heard(call, domain, question, answer, voice)
                        words = await recognized(recognizer, pcm)
                        assert share_of_words(answer, words) >= 0.8, (voice, answer, words)
    finally:
        await pool.close()


async def told_and_heard(call: PlacedCall, domain: str, question: str, answer: str, voice: str) -> bytes:
    """Ask; wait until the Thinker has answered and its words were told; return the sound of the reply."""
    said = await asyncio.to_thread(speak, question) if voice == "hibari" else speech(question)
    events, frames = len(call.events), len(call.caller.received.frames)

    def told(type_: str) -> list[dict[str, Any]]:
        return [event.data for event in call.events[events:] if event.type == type_]

    def answered() -> bool:
        words = " ".join(each["content"] for each in told("transcript_done") if each["role"] == "assistant")
        return answer in words

    await call.say(silence(200) + said)
    try:
        await until(answered, ANSWER_WITHIN_S)
    except AssertionError:
        raise AssertionError((voice, question, json.dumps(told("transcript_done")))) from None
    (done,) = [each for each in told("thinker") if each["event"] == "complete"]
    assert done["domain"] == domain
    await call.hears_nothing_for(1.5)
    return b"".join(each.frame for each in list(call.caller.received.frames)[frames:])
