"""The whole server as its users start it: a process of its own, in a folder of its own, with no key.

The weather service is a local stand-in, since a test machine has no internet.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from backend.testing.services.open_meteo import answering_today
from backend.testing.services.server import serving
from tests.support.forked import Forked
from tests.support.running_server import ANSWERED_OTHERWISE, TAKES_ALL
from tests.support.shared_responder import shared_local_responder

COMMAND = Path(sys.executable).parent / "responder-thinker"
READY_WITHIN_S = 60.0
STOP_WITHIN_S = 40.0
Process = subprocess.Popen[bytes]
ADDRESS = re.compile(r"http://localhost:\d+")


@contextlib.asynccontextmanager
async def real_server(**settings: str) -> AsyncIterator[str]:
    """Start the server and yield its address; `settings` are environment variables. Its exit must be clean."""
    with tempfile.TemporaryDirectory(prefix="responder-") as folder:
        async with serving(answering_today) as weather:
            given = {
                "OPEN_METEO_FORECAST_URL": f"{weather.url}/v1/forecast",
                "OPEN_METEO_GEOCODING_URL": f"{weather.url}/v1/search",
                **TAKES_ALL,
                **settings,
            }
            process = await start(folder, given)
            try:
                yield await address_of(process)
            finally:
                await stop(process)
            assert process.returncode in (0, -signal.SIGTERM), f"the server exited with {process.returncode}"


async def start(folder: str, settings: dict[str, str], port: int = 0) -> Process:
    """The server on that port (0: a free one), with its files in `folder`; of our own environment it gets the least."""
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "DATA_DIR": f"{folder}/var", "COLUMNS": "200"}
    environment["SECURITY_LOG"] = f"{folder}/security.log"
    if not ANSWERED_OTHERWISE & settings.keys():
        environment["OFFLINE_URL"] = await asyncio.to_thread(shared_local_responder)
    return await asyncio.to_thread(
        Forked,
        [str(COMMAND), "serve", "--port", str(port)],
        cwd=folder,
        env=environment | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )


async def address_of(process: Process) -> str:
    """The address from the start-up lines, once they are all there."""
    async with asyncio.timeout(READY_WITHIN_S):
        return await asyncio.to_thread(_address_of, process)


def _address_of(process: Process) -> str:
    assert process.stdout is not None
    address = ""
    while line := process.stdout.readline().decode():
        if found := ADDRESS.search(line):
            address = found[0]
        if "Ctrl-C" in line and address:
            return address
    raise AssertionError("the server did not start")


async def kill(process: Process) -> None:
    """As a machine that fails would."""
    process.kill()
    await asyncio.to_thread(process.communicate)


async def stop(process: Process) -> None:
    """As an operator would; by force when it does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.to_thread(process.communicate, timeout=STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)
