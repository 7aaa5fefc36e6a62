"""The README's promises without a key: the printed `talk` command, and the recorded reply."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import pytest

from backend.media.sound_file import read_audio
from tests.extensions.local.hearing import heard, share_of_words
from tests.support.running_server import running_server

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()


@pytest.mark.long
@pytest.mark.realtime
async def test_the_talk_command_of_the_readme_places_a_call_and_saves_the_reply_that_it_prints(tmp_path: Path) -> None:
    [printed] = re.findall(r"^\.venv/bin/responder-thinker talk .*$", README, re.MULTILINE)
    program, *arguments = shlex.split(printed)
    with running_server() as server:
        process = await asyncio.create_subprocess_exec(
            str(ROOT / program),
            *(str(ROOT / each) if each.startswith("examples/") else each for each in arguments),
            *("--url", server.url),
            cwd=tmp_path,
            env={"COLUMNS": "500"},
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(90):
            output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    assert re.search(r"^you: What's the weather in Seattle\?$", output, re.MULTILINE | re.IGNORECASE), output
    said = " ".join(re.findall(r"^assistant: (.*)$", output, re.MULTILINE))
    assert "In Seattle it is" in said
    assert share_of_words(said, await heard(read_audio(tmp_path / "reply.wav"))) >= 0.9


@pytest.mark.slow
async def test_the_recorded_reply_of_the_readme_is_an_answer_in_the_present_voice() -> None:
    assert "(docs/example-reply.wav)" in README
    pcm = read_audio(ROOT / "docs" / "example-reply.wav")
    words = await heard(pcm)
    assert "Seattle" in words and "degrees" in words
