"""One local Responder for all servers that a test process starts: its speech models are loaded once."""

import atexit
import subprocess
import sys
from functools import cache

from backend.testing.peer import end, when_ready
from tests.support.forked import ROOT, Forked

MANY_CALLS = "100000"


@cache
def shared_local_responder() -> str:
    """Return its address, e.g. `http://127.0.0.1:40123`; it ends with this process, even by SIGKILL."""
    command = [sys.executable, "-m", "backend.extensions.local", "--exit-with-parent", "--calls", MANY_CALLS]
    process = Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    atexit.register(end, process)
    return when_ready(process).url
