"""`responder-thinker worker` as a process, for tests that want one beside a server."""

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.support.forked import Forked
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import end

COMMAND = str(Path(sys.executable).parent / "responder-thinker")
READY_WITHIN_S = 40.0


@contextmanager
def running_worker(peer: OfflinePeer, *, log: Path | None = None, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with models that `peer` serves, ready to work. It is ended by its pid, unless the test has ended it.

    Its messages go to the file `log`, if there is one.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = {"DATA_DIR": f"{folder}/var", "OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": peer.base_url}
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with log.open("wb") if log else nullcontext() as messages:
            process = Forked(
                [COMMAND, "worker"],
                cwd=folder,
                env=kept | {"COLUMNS": "200"} | settings | env,
                stdout=subprocess.PIPE,
                stderr=messages,
            )
        try:
            _wait_until_ready(process)
            yield process
        finally:
            end(process)


def _wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout
    printed, deadline = b"", time.monotonic() + READY_WITHIN_S
    while b"Ctrl-C" not in printed:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096) if ready else b""
        assert piece, f"the worker did not start: {printed.decode()}"
        printed += piece
