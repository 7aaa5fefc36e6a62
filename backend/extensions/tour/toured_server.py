"""The toured server is a process with a data folder of its own and without the user's settings."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.errors import SetupError
from backend.settings.settings import load_settings
from backend.testing.services.server import serving
from backend.testing.services.services import every_service, pointing_at
from backend.tools.kb_search import KnowledgeBase, kb_path

READY_WITHIN_S = 30.0
END_WITHIN_S = 10.0
COMMAND = (sys.executable, "-c", "from backend.app.cli import main; main()")
KEPT = ("PATH", "HOME", "LANG")
"""The variables of our environment that the process gets: no keys, no addresses."""
HANDBOOK = """# Handbook of the tour

## Traffic

Cities that took space from cars and gave it to buses and bicycles have less traffic after two years.
"""


@dataclass(frozen=True, slots=True)
class Started:
    """A process of the server; `url` is empty for one that serves nothing."""

    process: asyncio.subprocess.Process
    url: str

    async def kill(self) -> None:
        """`kill -9`, and wait until it is gone."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def toured_server() -> AsyncIterator[str]:
    """The address of a server with a handbook as its documents, and tools that ask stand-ins. Raises `SetupError`."""
    async with prepared_folder() as (folder, settings), started(folder, settings, "serve", "--port", "0") as server:
        yield server.url


@asynccontextmanager
async def prepared_folder() -> AsyncIterator[tuple[Path, dict[str, str]]]:
    """A folder with a handbook, and settings of a server that asks stand-ins and keeps its data there."""
    with tempfile.TemporaryDirectory(prefix="tour-") as name:
        folder = Path(name)
        await asyncio.to_thread(_add_documents, folder)
        async with serving(every_service) as services:
            settings = pointing_at(services.url) | {
                "data_dir": name,
                "offers_per_minute": "0",
                "filler_after_s": "0",  # words in between would be taken for answers
                "idle_nudge_s": "0",
                "idle_disconnect_s": "0",
            }
            yield folder, {name.upper(): value for name, value in settings.items()}


def _add_documents(folder: Path) -> None:
    handbook = folder / "handbook.md"
    handbook.write_text(HANDBOOK)
    KnowledgeBase(kb_path(load_settings(_env_file=None, data_dir=folder))).add(handbook)


@asynccontextmanager
async def started(folder: Path, settings: Mapping[str, str], *arguments: str) -> AsyncIterator[Started]:
    """A process of ours with those settings, ready; ended in the end. Raises `SetupError`."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    log = folder / f"{arguments[0]}.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            cwd=folder,
            env=kept | {"COLUMNS": "200"} | dict(settings),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    try:
        yield Started(process, await _ready(process, log))
    finally:
        await _ended(process)


async def _ready(process: asyncio.subprocess.Process, log: Path) -> str:
    """The address it serves, if it serves one, once everything has been started."""
    assert process.stdout
    printed = ""
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            while "Ctrl-C" not in printed and (line := await process.stdout.readline()):
                printed += line.decode()
    except TimeoutError:
        pass
    if "Ctrl-C" not in printed:
        raise SetupError("The server did not start.", hint=(await asyncio.to_thread(log.read_text))[-800:])
    found = re.search(r"http://[\w.:]+", printed)
    return found[0].replace("localhost", "127.0.0.1") if found else ""


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(END_WITHIN_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
