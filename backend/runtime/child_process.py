"""Child processes: starts, watches, restarts and ends every program that the server runs beside itself.

    new ── start ──► starting ── until_ready ──► running ── close ──► ended
                        ▲                           │
                        └── pause (back-off) ◄── it ended by itself

A child ends with its parent, even if that is killed: the kernel sends it SIGTERM (`parent_death`, Linux). It has a
session of its own, so Ctrl-C in the terminal reaches only the parent, which ends its children. A child that ends by
itself is started again after a pause, which grows while children end young; some exit statuses are final.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.errors import SetupError
from backend.runtime import parent_death
from backend.runtime.supervisor import cancel_all, supervised

log = logging.getLogger(__name__)

LAST_WORDS_S = 0.5
"""Seconds in which `until_ready` may still read the output of a child that has ended."""
YOUNG_S = 30.0
"""Seconds that a child must run for the pauses to begin again with the first."""


def running(module: str) -> list[str]:
    """Return the command that runs a module of this server; arguments may follow.

    Without `-P`, Python would look in the working folder first, and a project there may have a `backend` of its own.
    """
    return [sys.executable, "-P", "-m", module]


class ChildFailed(SetupError):
    """A child process ended before it was ready, or was not ready in time."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run, with its arguments, environment and files."""

    arguments: Sequence[str]
    """The program's path, then its arguments."""
    env: Mapping[str, str] | None = None
    """The program's whole environment; None: this process's."""
    pipes: bool = False
    """True: the program's standard input and output are pipes to this process. False: no input, and our output."""
    log: Path | None = None
    """The file for the program's output and errors, which is overwritten at each start."""
    pass_fds: Sequence[int] = ()
    """The open files that the program inherits."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The time limits for the start and end of a child, and the pauses before it is started again."""

    ready_within_s: float = 20.0
    end_within_s: float = 3.0
    """Seconds between SIGTERM and SIGKILL."""
    pauses_s: Sequence[float] = (0.5, 1.0, 2.0, 5.0)
    """Seconds before a child that has ended is started again; the next pause counts each time one ends young."""
    final_statuses: Collection[int] = ()
    """The exit statuses after which a child is not started again."""


USUAL = Limits()


async def _at_once(process: Process) -> None:
    """Return immediately, as the default of `until_ready`: a started process is ready."""


class ChildProcess:
    """One program that is kept running, from `await start()` until `await close()`."""

    def __init__(
        self,
        name: str,
        command: Callable[[], Command],
        *,
        until_ready: Callable[[Process], Awaitable[None]] = _at_once,
        on_failed_restart: Callable[[Exception], object] = lambda error: None,
        limits: Limits = USUAL,
    ) -> None:
        """`name` is the child's name in logs; `command` is called at each start.

        `until_ready` returns when the child serves; `start` raises its errors. `on_failed_restart` may remove the cause
        of a failed restart before the next attempt.
        """
        self.name = name
        self._command = command
        self._until_ready = until_ready
        self._on_failed_restart = on_failed_restart
        self._limits = limits
        self._process: Process | None = None
        self._began = 0.0
        self._watching: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._final: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"ChildProcess({self.name}, {f'pid {self.pid}' if self.running else 'not running'})"

    @property
    def running(self) -> bool:
        """Return whether the child runs at this moment."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """Return the child's process id while it runs, otherwise None."""
        return self._process.pid if self._process and self.running else None

    @property
    def running_process(self) -> Process | None:
        """Return the child while it runs, otherwise None."""
        return self._process if self.running else None

    @property
    def ready(self) -> bool:
        """Return whether the child runs, and `until_ready` has returned."""
        return self.running and self._up.is_set()

    async def start(self) -> None:
        """Start the child and wait until it is ready; do nothing if it was started before.

        Raises `ChildFailed`; then no process is left.
        """
        if self._watching is not None:
            return
        await self._launch()
        self._watching = supervised(f"child process {self.name}", self._keep_running)

    async def wait_until_running(self) -> Process:
        """Wait until the child is ready, after its restart if it has just ended, and return it."""
        while not self.ready:
            self._up.clear()
            await self._up.wait()
        assert self._process
        return self._process

    async def final_status(self) -> int:
        """Wait for an exit status after which the child is not started again."""
        return await asyncio.shield(self._final)

    async def close(self) -> None:
        """End the child with SIGTERM, or with SIGKILL if it takes too long. Safe to call twice."""
        if self._watching is not None:
            await cancel_all([self._watching])
            self._watching = None
        await self._end()

    def kill(self) -> None:
        """End the child with SIGKILL."""
        self._up.clear()
        self._signal(signal.SIGKILL)

    async def _launch(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._up.clear()
        self._process = process = await _spawn(self._command())
        try:
            await self._ready(process)
        except BaseException:
            await self._end()
            raise
        self._up.set()

    async def _ready(self, process: Process) -> None:
        ready = asyncio.ensure_future(self._until_ready(process))
        died = asyncio.ensure_future(process.wait())
        try:
            within_s = self._limits.ready_within_s
            done, _ = await asyncio.wait({ready, died}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if died in done and ready not in done:
                done, _ = await asyncio.wait({ready}, timeout=LAST_WORDS_S)
            if ready in done:
                return ready.result()
            if died.done():
                raise ChildFailed(f"{self.name} ended with status {process.returncode} before it was ready.")
            raise ChildFailed(f"{self.name} was not ready within {within_s:g} s.")
        finally:
            await cancel_all((ready, died))

    async def _keep_running(self) -> None:
        died_young = 0
        while True:
            if self._process is not None:
                status = await self._process.wait()
                if status in self._limits.final_statuses:
                    self._final.set_result(status)
                    return
                log.error("%s ended with status %s and is started again", self.name, status)
            lived = asyncio.get_running_loop().time() - self._began
            died_young = died_young + 1 if lived < YOUNG_S else 0
            pauses = self._limits.pauses_s
            await asyncio.sleep(pauses[max(0, min(died_young, len(pauses)) - 1)])
            try:
                await self._launch()
            except (SetupError, OSError) as error:
                log.error("%s did not come back: %s", self.name, error)
                self._on_failed_restart(error)

    async def _end(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(self._limits.end_within_s):
                    await process.wait()
            except TimeoutError:
                log.error("%s did not end within %g s and is killed", self.name, self._limits.end_within_s)
                self._signal(signal.SIGKILL)
                await process.wait()
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


async def _spawn(command: Command) -> Process:
    stdin, output = (PIPE, PIPE) if command.pipes else (asyncio.subprocess.DEVNULL, None)
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(command.log.open("wb")) if command.log else None
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", parent_death.__file__, str(os.getpid())),
            *command.arguments,
            stdin=stdin,
            stdout=errors or output,
            stderr=errors,
            env=command.env,
            start_new_session=True,
            pass_fds=command.pass_fds,
        )
