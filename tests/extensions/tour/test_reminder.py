"""The tour's reminder: asked for by voice in a real call, spoken there when it is due, and only then forgotten."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from backend.extensions.tour import reminder

FIRST_SOUND_WITHIN_MS = 3_000
"""On a machine with nothing else to do it is a tenth of that."""


@pytest.mark.slow
async def test_a_reminder_asked_for_by_voice_is_spoken_on_time() -> None:
    console = Console(file=io.StringIO(), width=300)
    status = await reminder.run(console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert status == 0, printed
    assert re.search("I will remind you in (ten|10) seconds: take the bread", printed)
    assert "By the way: A reminder: take the bread" in printed
    late = re.search(r"first sound (\d+) ms after it was due", printed)
    assert late and int(late[1]) < FIRST_SOUND_WITHIN_MS, printed
