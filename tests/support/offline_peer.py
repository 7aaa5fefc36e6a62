"""The offline server as a test peer: a real process on a free port, ended by its pid."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from backend.testing.peer import ROOT, Process, end, when_ready
from backend.testing.peer import OfflinePeer as OfflinePeer
from backend.testing.peer import restartable_peer as any_restartable_peer
from tests.support.forked import Forked


@asynccontextmanager
async def offline_peer(script: Mapping[str, Any] | None = None, *arguments: str) -> AsyncIterator[OfflinePeer]:
    """Start `python -m backend.testing.offline` with a script, if one is given, and end it on the way out.

    Tests that can share a peer should use `running_peer` once and `follow` in each.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = list(arguments)
        if script is not None:
            path = Path(folder) / "script.json"
            path.write_text(json.dumps(script))
            options += ["--script", str(path)]
        process = await asyncio.to_thread(start, options)
        try:
            yield await asyncio.to_thread(when_ready, process)
        finally:
            await asyncio.to_thread(end, process)


@contextmanager
def running_peer(*arguments: str) -> Iterator[OfflinePeer]:
    """The same without an event loop, for fixtures of a module or a session; starts without a script."""
    process = start(list(arguments))
    try:
        yield when_ready(process)
    finally:
        end(process)


def start(options: list[str]) -> Process:
    """The process, not yet ready. It ends with this one, even by SIGKILL."""
    command = [sys.executable, "-m", "backend.testing.offline", "--exit-with-parent", *options]
    return Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)


restartable_peer = partial(any_restartable_peer, start=start)
"""A scripted peer that can die and come back at the same address."""
