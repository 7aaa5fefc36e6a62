"""The local Responder runs in a child process beside the server, which calls it over the network like a provider."""

import json
import os
import re
from asyncio.subprocess import Process

from backend.errors import SetupError
from backend.extensions.local.settings import LocalSettings
from backend.runtime.child_process import ChildProcess, Command, running
from backend.settings.settings import Settings

GIVEN = re.compile(
    r"PATH|HOME|USER|LANG|TZ|TMPDIR|(?:LC|LD|PYTHON|COV|OFFLINE|SSL)\w*|(?:HTTPS?|ALL|NO)_PROXY", re.IGNORECASE
)
"""The environment variables that the child gets. The server's settings are not among them: they hold secrets."""


class LocalResponder(ChildProcess):
    """The process. It is started once, and again at the same address if it dies."""

    def __init__(self, settings: Settings) -> None:
        """Construct it in a running event loop."""
        super().__init__("the local Responder", self._serve, until_ready=self._read_address)
        self._local = settings.of(LocalSettings)
        self.url = ""
        """http://127.0.0.1:PORT once started."""

    def __repr__(self) -> str:
        return f"LocalResponder({self.url or 'not started'}, {super().__repr__()})"

    def _serve(self) -> Command:
        port = self.url.rpartition(":")[2] or "0"
        command = [*running(__package__), "--exit-with-parent", "--port", port, "--calls", str(self._local.calls)]
        return Command(command, _environment(self._local), pipes=True)

    async def _read_address(self, process: Process) -> None:
        """Read the first line of its output, which is its address. Raises `SetupError` if it cannot start."""
        assert process.stdout is not None
        try:
            answer = json.loads(await process.stdout.readline())
        except ValueError:
            hint = f"Run `python -m {__package__}` to see why, or set OPENAI_API_KEY."
            raise SetupError("The local Responder did not start.", hint=hint) from None
        if "error" in answer:
            raise SetupError(answer["error"], hint=answer["hint"])
        self.url = answer["listening"]


def _environment(settings: LocalSettings) -> dict[str, str]:
    """Return the child's environment: `PASSED` variables and its own settings, which may come from `.env`."""
    own = {
        "LOCAL_MODEL_URL": settings.model_url,
        "LOCAL_MODEL": settings.model,
        "LOCAL_MODEL_KEY": settings.model_key.get_secret_value(),
    }
    return {name: value for name, value in os.environ.items() if GIVEN.fullmatch(name)} | own
