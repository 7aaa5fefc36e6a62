"""Supervised loops: a loop that raises is started again and counted, a loop that returns is over."""

import asyncio

import pytest

from backend.runtime import supervisor
from backend.runtime.supervisor import failing_loops, restarts, supervised


async def test_a_loop_that_raises_is_logged_counted_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    runs = 0

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise ValueError("one bad record")

    await asyncio.wait_for(supervised("test.raises", loop), 10)
    assert runs == 3
    assert restarts["test.raises"] == 2
    assert failing_loops()["test.raises"] == "ValueError"
    assert "test.raises failed and is started again" in caplog.text


async def test_a_loop_that_failed_long_ago_is_not_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = False

    async def loop() -> None:
        nonlocal failed
        if not failed:
            failed = True
            raise OSError

    await asyncio.wait_for(supervised("test.long_ago", loop), 10)
    monkeypatch.setattr(supervisor, "HEALTHY_AFTER_S", 0.0)
    assert "test.long_ago" not in failing_loops()
