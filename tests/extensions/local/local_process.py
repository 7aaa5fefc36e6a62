"""The local Responder as a process of its own, as `python -m backend.extensions.local` starts it."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from backend.testing.peer import READY_TIMEOUT_S, ROOT, end
from tests.support.forked import Forked


@contextmanager
def local_responder(*options: str, **env: str) -> Iterator[str]:
    """Run `python -m backend.extensions.local` with settings from `env`; yield its base URL."""
    command = [sys.executable, "-m", "backend.extensions.local", "--exit-with-parent", *options]
    process = Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | env)
    try:
        assert process.stdout and select.select([process.stdout], [], [], READY_TIMEOUT_S)[0]
        yield json.loads(process.stdout.readline())["listening"] + "/v1"
    finally:
        end(process)
