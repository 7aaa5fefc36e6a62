"""The toured server is a process with its own data folder and without the user's settings."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backend.errors import SetupError
from backend.runtime.child_process import ChildFailed, ChildProcess, Command, Limits
from backend.settings.settings import load_settings
from backend.testing.services.server import serving
from backend.testing.services.services import every_service, pointing_at
from backend.tools.kb_search import KnowledgeBase, kb_path

LIMITS = Limits(ready_within_s=30.0, end_within_s=10.0)
LOOK_EVERY_S = 0.1
PROGRAM = "import os, sys; os.chdir(sys.argv.pop(1)); from backend.app.cli import main; main()"
"""The program changes to a folder without a `.env`, then serves."""
KEPT = ("PATH", "HOME", "LANG")
"""The environment variables that the process gets: no keys, no addresses."""
HANDBOOK = """# Handbook of the tour

## Traffic

Cities that took space from cars and gave it to buses and bicycles have less traffic after two years.
"""


@asynccontextmanager
async def toured_server() -> AsyncIterator[str]:
    """Yield the address of a server with a handbook as document and stand-ins for services. Raises `SetupError`."""
    with tempfile.TemporaryDirectory(prefix="tour-") as name:
        folder, log = Path(name), Path(name) / "serve.log"
        await asyncio.to_thread(_add_documents, folder)
        async with serving(every_service) as services:
            arguments = (sys.executable, "-P", "-c", PROGRAM, str(folder), "serve", "--port", "0")
            command = Command(arguments, _environment(folder, pointing_at(services.url)), log=log)
            server = ChildProcess(
                "the toured server", lambda: command, until_ready=lambda _: _until_logged(log), limits=LIMITS
            )
            try:
                await server.start()
                yield _address(log)
            except ChildFailed as error:
                raise SetupError(str(error), hint=(await asyncio.to_thread(log.read_text))[-800:]) from error
            finally:
                await server.close()


def _add_documents(folder: Path) -> None:
    handbook = folder / "handbook.md"
    handbook.write_text(HANDBOOK)
    KnowledgeBase(kb_path(load_settings(_env_file=None, data_dir=folder))).add(handbook)


def _environment(folder: Path, addresses: dict[str, str]) -> dict[str, str]:
    settings = addresses | {
        "columns": "200",
        "data_dir": str(folder),
        "chat_turns_per_minute": "0",
        "offers_per_minute": "0",
        "filler_after_s": "0",  # fillers would be taken for answers
        "idle_nudge_s": "0",
        "idle_disconnect_s": "0",
    }
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {name.upper(): value for name, value in settings.items()}


async def _until_logged(log: Path) -> None:
    """Wait until the log says that everything has started."""
    while True:
        if "Ctrl-C" in await asyncio.to_thread(log.read_text):
            return
        await asyncio.sleep(LOOK_EVERY_S)


def _address(log: Path) -> str:
    found = re.search(r"http://[\w.:]+", log.read_text())
    assert found, "the server says where it listens before it says that it is ready"
    return found[0].replace("localhost", "127.0.0.1")
