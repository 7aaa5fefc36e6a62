"""A plugin made up on the spot is asked by voice, without a model: its tool gets what was said, its result is heard.

Everything is real: the server with the local Responder, a call over WebRTC, voices of two families, recognition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.extensions.local.recognition.choose import open_recognizer
from backend.extensions.local.synthesis.voice import speak
from tests.extensions.local.hearing import recognized, share_of_words
from tests.extensions.local.test_made_up_plugin import PAINT
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

LOADED_WITHIN_S, ANSWER_WITHIN_S = 60.0, 20.0
QUESTIONS = (
    ("How much blue paint do I need for a wall of forty square meters?", "Liters: 5.0; paint: blue."),
    ("And how much white paint does a wall of sixteen square meters need?", "Liters: 2.0; paint: white."),
)
VOICES: dict[str, Callable[[str], bytes]] = {"hibari": speak, "flite": speech}


@pytest.mark.slow
@pytest.mark.realtime
async def test_spoken_questions_reach_the_plugins_tool_and_its_results_are_heard(tmp_path: Path) -> None:
    (tmp_path / "paint.py").write_text(PAINT)
    recognizer, pool = open_recognizer()
    try:
        with running_server(PLUGIN_FOLDERS=str(tmp_path)) as server:
            for voice in VOICES:
                async with placed_call(server, within_s=30) as call:

                    async def is_loaded(call: PlacedCall = call) -> bool:
                        return not (await call.http.get("/api/config")).json()["loading"]

                    await until(is_loaded, LOADED_WITHIN_S)
                    for question, answer in QUESTIONS:
                        heard = await recognized(recognizer, await asked(call, voice, question, answer))
                        assert share_of_words(answer, heard) >= 0.8, (voice, answer, heard)
    finally:
        await pool.close()


async def asked(call: PlacedCall, voice: str, question: str, answer: str) -> bytes:
    """Ask; wait until the plugin's answer was said; return the sound of all that was said."""
    events, frames = len(call.events), len(call.caller.received.frames)

    def told() -> list[str]:
        return [event.data["content"] for event in call.events[events:] if event.type == "transcript"]

    await call.say(silence(500) + await asyncio.to_thread(VOICES[voice], question))
    try:
        await until(lambda: answer in " ".join(told()), ANSWER_WITHIN_S)
    except AssertionError:
        raise AssertionError((voice, question, told())) from None
    answered = [event.data for event in call.events[events:] if event.type == "thinker"]
    assert answered[-1]["event"] == "complete" and answered[-1]["domain"] == "paint"
    await call.hears_nothing_for(1.0)
    return b"".join(each.frame for each in list(call.caller.received.frames)[frames:])
