"""What the tour shows of long work: a caller hangs up, everything is killed, and the next call hears the result."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from backend.extensions.tour import background


@pytest.mark.slow
@pytest.mark.long
async def test_research_whose_worker_and_server_were_killed_is_spoken_in_a_new_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(background.SETTINGS, "RESEARCH_DELAY_S", "3")
    console = Console(file=io.StringIO(), width=300)
    status = await background.run(console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert status == 0, printed
    assert "I've started on it in the background" in printed
    assert "in run 2" in printed
    assert printed.count("I have an answer to this: Research") == 1
