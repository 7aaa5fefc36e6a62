"""The how-to's client of the OpenAI API, against the whole server as a process."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.support.offline_peer import running_peer
from tests.support.running_server import running_server

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "chat.md"


async def test_the_program_of_the_how_to_prints_the_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (program,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S)
    with running_peer() as peer, running_server(peer) as running:
        await peer.follow({"chat": [{"text": "It is sunny in Seattle."}]})
        code = compile(program.replace("http://localhost:8000", running.url), str(HOWTO), "exec")
        await asyncio.to_thread(exec, code, {})
    assert "It is sunny in Seattle." in capsys.readouterr().out
