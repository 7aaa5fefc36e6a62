"""The processes behind a server: found by their command lines, watched until they are gone."""

import psutil

from tests.support.waiting import until


def children(pid: int) -> list[psutil.Process]:
    """All children of a process, and their children."""
    offspring: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return offspring


def child(pid: int, *words: str) -> psutil.Process:
    """The one descendant with a command line that holds all of `words`, as arguments or within its first."""
    [found] = [process for process in children(pid) if _runs(process, words)]
    return found


def _runs(process: psutil.Process, words: tuple[str, ...]) -> bool:
    line = process.cmdline()
    return bool(line) and all(word in line or word in line[0] for word in words)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run. A process that has ended and is not yet reaped does not."""
    return [process for process in processes if process.is_running() and _status(process) != psutil.STATUS_ZOMBIE]


def _status(process: psutil.Process) -> str:
    try:
        status: str = process.status()
        return status
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_ZOMBIE)


async def gone(processes: list[psutil.Process], within_s: float) -> None:
    """Wait until none of them runs."""
    await until(lambda: not alive(processes), within_s)
