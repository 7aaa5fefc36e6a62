"""Runs the offline demonstration beside the server: a child process, called over the network like the real API."""

from __future__ import annotations

import json
import os
import sys
from asyncio.subprocess import Process

from backend.errors import SetupError
from backend.runtime.child_process import ChildFailed, ChildProcess, Command
from backend.settings.settings import Settings


class Demo(ChildProcess):
    """The demonstration's process: started once, started again at the same address when it dies."""

    def __init__(self, settings: Settings) -> None:
        """The setting `offline_script` makes it deterministic. Construct it in a running event loop."""
        super().__init__("the offline demonstration", self._serve, until_ready=self._read_address)
        self._script = settings.offline_script
        self._module = "demo.offline" if self._script else "local_responder"
        self._environment = {
            "LOCAL_MODEL_URL": settings.local_model_url,
            "LOCAL_MODEL": settings.local_model,
            "LOCAL_MODEL_KEY": settings.local_model_key.get_secret_value(),
        }
        self.url = ""
        """http://127.0.0.1:PORT once started."""

    def __repr__(self) -> str:
        return f"Demo({self.url or 'not started'}, {super().__repr__()})"

    async def start(self) -> None:
        """Start it, and wait until it listens. Raises `SetupError`."""
        try:
            await super().start()
        except ChildFailed as error:
            raise SetupError(
                "The offline demonstration did not start.",
                hint=f"Run `python -m {self._module}` to see why, or set OPENAI_API_KEY.",
            ) from error

    def _serve(self) -> Command:
        port = self.url.rpartition(":")[2] or "0"
        script = ["--script", str(self._script)] if self._script else []
        command = [sys.executable, "-m", self._module, "--exit-with-parent", "--port", port, *script]
        return Command(command, env=os.environ | self._environment, pipes=True)

    async def _read_address(self, process: Process) -> None:
        """Read the first line of its output, which says where it listens."""
        assert process.stdout is not None
        try:
            self.url = json.loads(await process.stdout.readline())["listening"]
        except (ValueError, KeyError) as error:
            raise ChildFailed("It did not say where it listens.") from error
