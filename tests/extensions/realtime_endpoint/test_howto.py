"""The how-to's program, a foreign client, against the whole server."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "realtime-endpoint.md"


async def test_the_program_of_the_how_to_prints_the_answer(
    peer: OfflinePeer, running: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *_ = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S)
    await peer.follow({"turns": [{"reply": {"text": "It is sunny in Seattle.", "tone": {"hz": 440, "ms": 400}}}]})
    code = compile(program.replace("ws://localhost:8000", running.url.replace("http", "ws", 1)), str(HOWTO), "exec")
    await asyncio.to_thread(exec, code, {})
    assert "It is sunny in Seattle." in capsys.readouterr().out
