"""Keeps the offline demonstration running beside us: a child process, spoken to over the wire like the real API."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

from backend.errors import SetupError

log = logging.getLogger(__name__)

READY_WITHIN_S = 20.0
STOP_WITHIN_S = 3.0
RESTART_AFTER_S = 0.5


class OfflineChild:
    """Started once, restarted at the same address when it dies, ended with us (it watches its standard input)."""

    def __init__(self, script: Path | None = None) -> None:
        self._script = script
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.url = ""
        """http://127.0.0.1:PORT once started."""

    def __repr__(self) -> str:
        return f"OfflineChild({self.url or 'not started'}, {'running' if self.running else 'down'})"

    @property
    def running(self) -> bool:
        """Whether it lives."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Begin, and wait until it listens. Raises `SetupError`."""
        await self._launch(port=0)
        self._keeper = asyncio.create_task(self._keep(), name="offline child keeper")

    async def stop(self) -> None:
        """End it. Safe to call twice."""
        if self._keeper:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
            self._keeper = None
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_WITHIN_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _launch(self, port: int) -> None:
        command = [sys.executable, "-m", "demo.offline", "--exit-with-parent", "--port", str(port)]
        if self._script:
            command += ["--script", str(self._script)]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; the calls that are still being ended need the child
        )
        self._process = process
        assert process.stdout is not None
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                line = await process.stdout.readline()
            self.url = json.loads(line)["listening"]
        except (TimeoutError, ValueError, KeyError) as error:
            raise SetupError(
                "The offline demonstration did not start.",
                hint="Run `python -m demo.offline` to see why, or set OPENAI_API_KEY.",
            ) from error

    async def _keep(self) -> None:
        while self._process:
            status = await self._process.wait()
            log.error("the offline demonstration ended with status %s; starting it again", status)
            await asyncio.sleep(RESTART_AFTER_S)
            try:
                await self._launch(int(self.url.rsplit(":", 1)[1]))
            except (SetupError, OSError) as error:
                log.error("it did not come back: %s", error)
