"""`WORKERS=n`: one command, one port, n processes, each a whole server that knows of the others (`fleet/`).

This process takes no calls. It holds what there may be only one of (the embedded Redis, the offline demonstration),
starts the others, and starts one again that dies: its calls are lost, those of the others go on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from backend.app.demo_process import OfflineChild
from backend.errors import SetupError
from backend.http.secret_key import secret_key
from backend.settings.settings import Settings
from backend.storage import parent_death as tether
from backend.storage.embedded import open_memory

log = logging.getLogger(__name__)

END_WITHIN_S = 25.0
"""Seconds the processes may take to say goodbye to their callers."""
RESTART_AFTER_S = (0.5, 1.0, 2.0, 5.0)
"""Seconds before a process that died is started again, longer each time it dies young."""
YOUNG_S = 30.0
SETUP_FAILED = 2
"""The exit status of a server that cannot start as it is set up."""


async def supervise(settings: Settings, host: str, port: int, log_level: str) -> None:
    """Until SIGINT or SIGTERM. Raises `SetupError` when the processes cannot start."""
    with _reserved(host, port) as held:
        port = held.getsockname()[1]
        async with _shared(settings) as environment:
            options = ["--host", host, "--port", str(port), "--log-level", log_level]
            crew = Crew(settings.workers, options, environment, END_WITHIN_S + settings.drain_s)
            await crew.run()


@dataclass
class Crew:
    """The processes. `run` returns when they have all ended after a signal."""

    size: int
    options: list[str]
    environment: dict[str, str]
    end_within_s: float = END_WITHIN_S
    _processes: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _failed: bool = False

    async def run(self) -> None:
        """Keep them all alive until a signal comes, then end them in order. Raises `SetupError`."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)
        try:
            async with asyncio.TaskGroup() as tasks:
                for place in range(self.size):
                    tasks.create_task(self._keep(place), name=f"worker {place}")
                await self._ending.wait()
                await self._end()
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        if self._failed:
            raise SetupError("The processes could not start.", hint="What they say above tells why.")

    def _on_signal(self) -> None:
        if self._ending.is_set():  # the second one: at once
            for process in self._processes.values():
                _signal(process, signal.SIGKILL)
        self._ending.set()

    async def _keep(self, place: int) -> None:
        """One process, started again whenever it dies before its time."""
        loop = asyncio.get_running_loop()
        died_young = 0
        while not self._ending.is_set():
            began = loop.time()
            process = self._processes[place] = await self._start(first=place == 0 and not died_young)
            status = await process.wait()
            if self._ending.is_set():
                return
            if status == SETUP_FAILED:
                self._failed = True
                self._ending.set()
                return
            died_young = died_young + 1 if loop.time() - began < YOUNG_S else 0
            rest = RESTART_AFTER_S[min(died_young, len(RESTART_AFTER_S) - 1)]
            log.error("a process of the server ended with status %s; another one starts in %s s", status, rest)
            await _at_most(self._ending, rest)

    async def _start(self, *, first: bool) -> asyncio.subprocess.Process:
        announce = "--announce" if first else "--no-announce"
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", tether.__file__, str(os.getpid())),  # it ends when we do, however we went
            *(sys.executable, "-m", "backend.app.cli", "serve", "--shared-port", announce, *self.options),
            env=self.environment,
            start_new_session=True,  # Ctrl-C is for us: we end the others in order
        )

    async def _end(self) -> None:
        for process in self._processes.values():
            _signal(process, signal.SIGTERM)
        waiting = [asyncio.ensure_future(process.wait()) for process in self._processes.values()]
        _, late = await asyncio.wait(waiting, timeout=self.end_within_s)
        if late:
            log.error("%s processes did not end within %s s and are killed", len(late), self.end_within_s)
            for process in self._processes.values():
                _signal(process, signal.SIGKILL)


@asynccontextmanager
async def _shared(settings: Settings) -> AsyncIterator[dict[str, str]]:
    """What there is one of; yields the environment in which the processes find it."""
    environment = dict(os.environ) | {"SHARE_SESSIONS": "true"}
    async with AsyncExitStack() as stack:
        opened = await open_memory(settings.redis_url, settings.data_dir)
        stack.push_async_callback(opened.memory.close)
        if opened.url is None:
            raise SetupError(f"WORKERS needs a Redis that several processes can reach. {opened.detail}")
        environment["REDIS_URL"] = opened.url
        secret_key(settings)  # makes the one they all sign with, if there is none
        if settings.offline and not settings.offline_url:
            child = OfflineChild(settings.offline_script)
            stack.push_async_callback(child.stop)
            await child.start()
            environment["OFFLINE_URL"] = child.url
        yield environment


def _reserved(host: str, port: int) -> socket.socket:
    """A socket that holds the port for all; it does not listen, so no caller is ever given to it."""
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        held.bind((host, port))
    except OSError as error:
        held.close()
        hint = "Choose another with --port or --host."
        raise SetupError(f"Cannot listen on {host}:{port}: {error.strerror}.", hint=hint) from error
    return held


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    if process.returncode is None:
        process.send_signal(number)


async def _at_most(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
