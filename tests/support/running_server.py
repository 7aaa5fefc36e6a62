"""The whole server as a process, and calls that a program places to it, for end-to-end tests."""

import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from backend.testing.calls import PlacedCall as PlacedCall
from backend.testing.calls import browser_of, call_to
from tests.support.forked import Forked
from tests.support.offline_peer import OfflinePeer
from tests.support.shared_responder import shared_local_responder

READY_WITHIN_S = 60.0
TAKES_ALL = {"ADMISSION_MAX_LAG_MS": "0"}
"""Long, because tests share a busy machine."""
ANSWERED_OTHERWISE = frozenset({"LOCAL_CALLS", "LOCAL_MODEL_URL", "OFFLINE_URL", "OPENAI_API_KEY", "RESPONDERS"})
"""Settings that choose the Responder. A server without any of them uses the local one."""
END_WITHIN_S = 15.0
COMMAND = str(Path(sys.executable).parent / "responder-thinker")


@dataclass
class RunningServer:
    """A running server process."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path
    printed: str

    def kill(self) -> None:
        """Kill it, like a machine that fails."""
        self.process.kill()
        self.process.communicate()  # when the pipe ends, its children have ended, too

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self.process.pid


@contextmanager
def running_server(
    peer: OfflinePeer | None = None,
    *,
    folder: str | Path = "",
    prefix: Sequence[str] = (),
    options: Sequence[str] = (),
    **env: str,
) -> Iterator[RunningServer]:
    """`responder-thinker serve` on a free port, with its data in `folder` (empty: one of its own), ended by its pid.

    `prefix` goes before the command, `options` behind it. With `peer` it takes that process for the OpenAI API.
    Otherwise it uses the local Responder that all servers of this test process share, unless `env` chooses:
    `OFFLINE_URL=""` makes it start its own.
    """
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory() as place:
        shared = {} if peer or prefix or ANSWERED_OTHERWISE & env.keys() else {"OFFLINE_URL": shared_local_responder()}
        process = _start(Path(place), environment(Path(place), peer) | shared | env, prefix, options)
        try:
            yield when_ready(process, Path(place))
        finally:
            end(process)


def environment(folder: Path, peer: OfflinePeer | None = None) -> dict[str, str]:
    """Return the environment of a server that keeps its data in `folder` and takes `peer` for the OpenAI API."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # Tests do not call Open-Meteo. An address that refuses immediately stands for an unreachable service.
    nowhere = {"OPEN_METEO_FORECAST_URL": "http://127.0.0.1:9/f", "OPEN_METEO_GEOCODING_URL": "http://127.0.0.1:9/g"}
    settings = {"DATA_DIR": f"{folder}/var", "OFFERS_PER_MINUTE": "0", "SECURITY_LOG": f"{folder}/security.log"}
    settings["REDIS_URL"] = "embedded"
    provider = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": peer.base_url} if peer else {}
    return kept | nowhere | settings | TAKES_ALL | provider


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, then SIGKILL to that process."""
    process.terminate()
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def _start(
    folder: Path, settings: Mapping[str, str], prefix: Sequence[str], options: Sequence[str]
) -> subprocess.Popen[bytes]:
    starting = subprocess.Popen if prefix else Forked
    with (folder / "stderr.log").open("wb") as log:
        return starting(
            [*prefix, COMMAND, "serve", "--port", "0", *options],
            cwd=folder,
            env={"COLUMNS": "200"} | dict(settings),
            stdout=subprocess.PIPE,
            stderr=log,
        )


def when_ready(process: subprocess.Popen[bytes], folder: Path) -> RunningServer:
    """Wait for the last line of the start, which says how to stop it. Errors go to the folder's `stderr.log`."""
    assert process.stdout
    printed = ""
    deadline = time.monotonic() + READY_WITHIN_S
    while "Ctrl-C" not in printed:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096).decode() if ready else ""
        assert piece, f"the server did not start:\n{printed}\n{(folder / 'stderr.log').read_text()}"
        printed += piece
    found = re.search(r"http://[\w.:]+", printed)
    assert found, printed
    return RunningServer(found[0].replace("localhost", "127.0.0.1"), process, folder, printed)


def placed_call(server: RunningServer, **options: Any) -> AbstractAsyncContextManager[PlacedCall]:
    """Place a call to that server, as `call_to` does."""
    return call_to(server.url, **options)


def a_browser(server: RunningServer) -> httpx2.AsyncClient:
    """Return a client with a cookie jar of its own, for `async with`."""
    return browser_of(server.url)


async def type_text(call: PlacedCall, text: str) -> dict[str, Any]:
    """Type into a call, and wait for the Thinker's part of the answer."""
    headers = {"authorization": f"Bearer {call.ticket.token}"}
    answer = await call.http.post(
        f"/api/sessions/{call.ticket.session_id}/messages", json={"text": text}, headers=headers
    )
    assert answer.status_code == 202, answer.text
    return (await call.event("thinker", event="complete")).data
