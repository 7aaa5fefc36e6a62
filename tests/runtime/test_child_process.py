"""Real child processes that become ready, die, ignore the request to end, or lose their parent."""

import asyncio
import os
import signal
import sys
import textwrap
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from backend.runtime.child_process import ChildFailed, ChildProcess, Command, Limits
from tests.support.processes import gone
from tests.support.waiting import until

SLEEPS = "print('ready', flush=True); import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
QUICK = Limits(ready_within_s=20.0, end_within_s=0.3, pauses_s=(0.01, 0.02))


def python(program: str, **options: Any) -> Callable[[], Command]:
    """The command that runs a program given as text."""
    return lambda: Command([sys.executable, "-c", program], **{"pipes": True} | options)


async def first_line(process: Process) -> None:
    """Return once the child has printed that it is ready."""
    assert process.stdout
    if await process.stdout.readline() != b"ready\n":
        await asyncio.Event().wait()


@asynccontextmanager
async def running(program: str, **options: Any) -> AsyncIterator[ChildProcess]:
    chosen: dict[str, Any] = {"until_ready": first_line, "limits": QUICK} | options
    child = ChildProcess("a test child", python(program), **chosen)
    try:
        await child.start()
        yield child
    finally:
        await child.close()


async def test_a_started_child_runs_and_a_closed_one_is_gone() -> None:
    async with running(SLEEPS) as child:
        assert child.running and child.pid
        process = psutil.Process(child.pid)
        await child.start()
        assert child.pid == process.pid, "a second start starts nothing"
        assert f"pid {process.pid}" in repr(child)
        assert os.getsid(process.pid) != os.getsid(0), "Ctrl-C does not reach it"
        await child.close()
        await child.close()
        assert "not running" in repr(child)
        await gone([process], within_s=10)


async def test_a_child_that_dies_is_started_again_and_waiters_get_the_new_process() -> None:
    async with running(SLEEPS) as child:
        first = await child.wait_until_running()
        first.kill()
        await first.wait()
        second = await child.wait_until_running()
        assert second.pid != first.pid and child.running


async def test_children_that_die_early_are_restarted_after_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("backend.runtime.child_process.asyncio.sleep", note)
    child = ChildProcess(
        "a short-lived one", python("print('ready', flush=True)"), until_ready=first_line, limits=QUICK
    )
    await child.start()
    while len(pauses) < 3:
        await sleep(0.01)
    await child.close()
    assert pauses[:3] == [0.01, 0.02, 0.02]


async def test_a_child_that_ends_before_it_is_ready_is_an_error_with_its_status() -> None:
    with pytest.raises(ChildFailed, match="ended with status 3"):
        async with running("import sys; sys.exit(3)"):
            raise AssertionError("it must not start")


async def test_a_child_that_is_not_ready_in_time_is_ended() -> None:
    started: list[Process] = []

    async def never(process: Process) -> None:
        started.append(process)
        await asyncio.Event().wait()

    with pytest.raises(ChildFailed, match="was not ready within"):
        async with running(SLEEPS, until_ready=never, limits=Limits(ready_within_s=0.2)):
            raise AssertionError("it must not start")
    assert started[0].returncode == -signal.SIGTERM


async def test_a_child_that_ignores_the_request_to_end_is_killed() -> None:
    async with running(DEAF) as child:
        process = await child.wait_until_running()
        await child.close()
        assert process.returncode == -signal.SIGKILL


async def test_after_a_final_status_a_child_is_not_started_again() -> None:
    program = "import time; print('ready', flush=True); time.sleep(0.05); raise SystemExit(2)"
    async with running(program, limits=Limits(pauses_s=(0.01,), final_statuses={2})) as child:
        async with asyncio.timeout(20):
            assert await child.final_status() == 2
        await asyncio.sleep(0.05)
        assert not child.running


async def test_a_callback_can_repair_what_stops_a_restart(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    program = f"import os, sys; os.path.exists({str(broken)!r}) and sys.exit(1); {SLEEPS}"
    async with running(program, on_failed_restart=lambda error: broken.unlink()) as child:
        broken.touch()
        (await child.wait_until_running()).kill()
        await until(lambda: not broken.exists())
        assert await child.wait_until_running()


async def test_closing_during_a_restart_leaves_no_process() -> None:
    async with running(SLEEPS) as child:
        (await child.wait_until_running()).kill()
        await asyncio.sleep(0.02)
    assert [one for one in psutil.Process().children() if SLEEPS in " ".join(one.cmdline())] == []


async def test_a_child_ends_when_its_parent_is_killed() -> None:
    parent_program = f"""
        import asyncio, sys
        from backend.runtime.child_process import ChildProcess, Command

        async def main():
            child = ChildProcess("a child", lambda: Command([sys.executable, "-c", {SLEEPS!r}], pipes=True))
            await child.start()
            print(child.pid, flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
    """
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(parent_program), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    await gone([child], within_s=20.0)
