"""Foreign clients, each a program in an environment of its own, against the whole server.

`scripts/install.sh test` makes that environment. The programs run the lines of the how-to.
"""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from backend.testing.offline.script.handler import loud_ms
from tests.extensions.realtime_endpoint.test_howto import HOWTO
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer
from tests.support.speech import silence, speech

PROGRAMS = Path(__file__).parent / "clients"
PYTHON = Path(__file__).parents[3] / ".venv-clients" / "bin" / "python"
ENDS_WITHIN_S = 110
SAID = {
    "question": "what is the weather in Seattle",
    "story": "please tell me a long story",
    "stop": "no, that is enough now, please stop",
}
STORY_MS = 12_000
GREETING: dict[str, Any] = {"reply": {"text": "Hello.", "tone": {"hz": 440, "ms": 300}}}


def heard(name: str) -> dict[str, Any]:
    """A sentence is one turn, though on a slow machine it may come in pieces."""
    return {"text": SAID[name], "voiced_ms": loud_ms(speech(SAID[name]))}


TURNS: list[dict[str, Any]] = [
    {
        "hear": heard("question"),
        "reply": {"calls": [{"name": "look_outside", "arguments": {"window": "north"}}]},
        "after_results": [{"text": "It rains.", "tone": {"hz": 440, "ms": 600}}],
    },
    {"hear": heard("story"), "reply": {"text": "A long story. ", "tone": {"hz": 440, "ms": STORY_MS}, "pace": 2}},
    {"hear": heard("stop"), "reply": {"text": "All right.", "tone": {"hz": 440, "ms": 300}}},
]

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


async def run(program: str, lines_with: str, running: RunningServer, folder: Path) -> dict[str, Any]:
    """Run a client over the how-to's lines with `lines_with` in them, and return its record."""
    assert PYTHON.exists(), "run scripts/install.sh test"
    (lines,) = [each for each in re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S) if lines_with in each]
    host = running.url.removeprefix("http://")
    (folder / "snippet.py").write_text(lines.replace("localhost:8000", host))
    for name, words in SAID.items():
        (folder / f"{name}.pcm").write_bytes(silence(200) + speech(words))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        PYTHON,
        PROGRAMS / program,
        folder,
        env=kept | {"PYTHONPATH": str(folder), "NO_PROXY": "127.0.0.1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()[-3000:]
    seen: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return seen


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("program", "lines_with", "greets"),
    [
        ("openai_agents.py", "agents.realtime", False),
        ("livekit_agents.py", "livekit", False),
        ("pipecat_service.py", "pipecat", True),
    ],
)
async def test_a_client_speaks_calls_its_tool_and_interrupts(
    program: str, lines_with: str, greets: bool, peer: OfflinePeer, running: RunningServer, tmp_path: Path
) -> None:
    await peer.follow({"turns": [GREETING, *TURNS] if greets else TURNS})
    seen = await run(program, lines_with, running, tmp_path)
    assert " ".join(filter(None, dict.fromkeys(seen["heard"]))) == " ".join(SAID.values())
    said = "".join(seen["said"])
    assert "It rains." in said and "All right." in said and seen["called"] == ["north"]
    assert seen["errors"] == [] and seen["interruptions"] >= 1, seen
    assert 48 * 600 < seen["audio_bytes"] < 48 * STORY_MS, "the long answer was not heard to its end"
    received = (await peer.connections())[-1]["received"]
    truncated = [each["event"]["audio_end_ms"] for each in received if each["type"] == "conversation.item.truncate"]
    assert any(0 < heard_ms < STORY_MS for heard_ms in truncated)
