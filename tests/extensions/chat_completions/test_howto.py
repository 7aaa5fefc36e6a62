"""The how-to's client of the OpenAI API, against a server of this process."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.http.world import world

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "chat.md"


async def test_the_program_of_the_how_to_prints_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (program,) = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S)
    async with world(tmp_path, scenes=["It is sunny in Seattle."]) as here:
        code = compile(program.replace("http://localhost:8000", here.url), str(HOWTO), "exec")
        await asyncio.to_thread(exec, code, {})
    assert "It is sunny in Seattle." in capsys.readouterr().out
