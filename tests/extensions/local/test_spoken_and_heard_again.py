"""Real calls with everything local: a question is spoken, and what is heard of the answer is recognized again."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from backend.extensions.local.recognition.choose import open_recognizer
from backend.extensions.local.synthesis.voice import speak
from backend.media.wav import read_wav, write_wav
from tests.extensions.local.hearing import recognized, share_of_words
from tests.support.running_server import RunningServer, running_server

COMMAND = str(Path(sys.executable).parent / "responder-thinker")
QUESTIONS = ("What is the weather in Seattle?", "What is the weather in Paris?")


async def talk(server: RunningServer, question: str, folder: Path) -> tuple[str, str, bytes]:
    """Ask in a call of its own; return what was recognized, what the transcript says was answered, and its sound."""
    asked, heard = folder / f"{len(question)}.wav", folder / f"{len(question)}-reply.wav"
    write_wav(asked, await asyncio.to_thread(speak, question))
    command = [COMMAND, "talk", "--url", server.url, str(asked), "--out", str(heard)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env={"COLUMNS": "500"})
    async with asyncio.timeout(90):
        printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, printed
    lines = [line.partition(": ")[2] for line in printed.splitlines() if line.startswith("assistant: ")]
    [words] = re.findall(r"^you: (.*)$", printed, re.M)
    return words, " ".join(lines), read_wav(heard)


@pytest.mark.slow
@pytest.mark.realtime
async def test_two_calls_at_once_are_understood_and_what_they_hear_can_be_recognized(tmp_path: Path) -> None:
    recognizer, pool = open_recognizer()
    try:
        with running_server(LOCAL_CALLS="2") as server:
            calls = await asyncio.gather(*(talk(server, question, tmp_path) for question in QUESTIONS))
        for question, (words, said, pcm) in zip(QUESTIONS, calls, strict=True):
            assert share_of_words(question, words) >= 0.9, words
            heard = await recognized(recognizer, pcm)
            assert share_of_words(said, heard) >= 0.9, (said, heard)
    finally:
        await pool.close()
