"""The toured server is a process with a data folder of its own and without the user's settings."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backend.errors import SetupError
from backend.settings.settings import load_settings
from backend.testing.services.server import serving
from backend.testing.services.services import every_service, pointing_at
from backend.tools.kb_search import KnowledgeBase, kb_path

READY_WITHIN_S = 30.0
END_WITHIN_S = 10.0
COMMAND = (sys.executable, "-c", "from backend.app.cli import main; main()", "serve", "--port", "0")
KEPT = ("PATH", "HOME", "LANG")
"""The variables of our environment that the process gets: no keys, no addresses."""
HANDBOOK = """# Handbook of the tour

## Traffic

Cities that took space from cars and gave it to buses and bicycles have less traffic after two years.
"""


@asynccontextmanager
async def toured_server() -> AsyncIterator[str]:
    """Yield the address of a server with a handbook as its documents, and tools that ask stand-ins. Raises
    `SetupError`.
    """
    with tempfile.TemporaryDirectory(prefix="tour-") as name:
        folder, log = Path(name), Path(name) / "serve.log"
        await asyncio.to_thread(_add_documents, folder)
        async with serving(every_service) as services:
            process = await _started(folder, log, pointing_at(services.url))
            try:
                yield await _ready(process, log)
            finally:
                await _ended(process)


def _add_documents(folder: Path) -> None:
    handbook = folder / "handbook.md"
    handbook.write_text(HANDBOOK)
    KnowledgeBase(kb_path(load_settings(_env_file=None, data_dir=folder))).add(handbook)


async def _started(folder: Path, log: Path, addresses: dict[str, str]) -> Process:
    settings = addresses | {
        "columns": "200",
        "data_dir": str(folder),
        "chat_turns_per_minute": "0",
        "offers_per_minute": "0",
        "filler_after_s": "0",  # words in between would be taken for answers
        "idle_nudge_s": "0",
        "idle_disconnect_s": "0",
    }
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    given = kept | {name.upper(): value for name, value in settings.items()}
    with log.open("wb") as errors:
        return await asyncio.create_subprocess_exec(*COMMAND, cwd=folder, env=given, stdout=PIPE, stderr=errors)


async def _ready(process: Process, log: Path) -> str:
    """Return the address it serves, once everything has been started."""
    assert process.stdout
    printed = ""
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while "Ctrl-C" not in printed and (line := await process.stdout.readline()):
                printed += line.decode()
    except TimeoutError:
        pass
    found = re.search(r"http://[\w.:]+", printed)
    if "Ctrl-C" not in printed or not found:
        raise SetupError("The server did not start.", hint=(await asyncio.to_thread(log.read_text))[-800:])
    return found[0].replace("localhost", "127.0.0.1")


async def _ended(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(END_WITHIN_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
