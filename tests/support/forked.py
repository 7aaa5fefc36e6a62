"""Server processes for tests, forked from a process that has imported the server: the same at a tenth of the computing.

Tests of a real start use `subprocess` itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_parents: list[_Parent] = []
_one_at_a_time = threading.Lock()


class Forked(subprocess.Popen[bytes]):
    """A `Popen` of `responder-thinker …` or `python -m module …` that is forked and not started.

    It overrides how Popen starts a child and waits for it, which has been the same since Python 3.11.
    """

    _status: int
    """The file with its exit status."""

    def _execute_child(self, args: Any, *more: Any) -> None:
        _, _, _, _, cwd, env, _, _, _, *pipes = more
        command, folder = [str(each) for each in args], str(cwd or Path.cwd())
        environment = dict(os.environ if env is None else env)
        sys.audit("subprocess.Popen", command[0], command, folder, environment)
        p2cread, _, _, c2pwrite, _, errwrite = pipes[:6]
        files = [own if own != -1 else number for number, own in enumerate((p2cread, c2pwrite, errwrite))]
        self._status, telling = os.pipe()
        try:
            order = {"command": command, "cwd": folder, "env": environment}
            self.pid = _parent().fork(order, [*files, telling])
        finally:
            os.close(telling)
        self._child_created = True
        self._close_pipe_fds(*pipes[:6])  # type: ignore[attr-defined]

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._ended(None if deadline is None else max(0.0, deadline - time.monotonic())) is None:
            if deadline is not None and time.monotonic() >= deadline:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
        assert self.returncode is not None
        return self.returncode

    def _ended(self, within_s: float | None) -> int | None:
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None and select.select([self._status], [], [], within_s)[0]:
                with os.fdopen(self._status, "rb") as status:
                    self.returncode = json.loads(status.read() or str(_LOST))
            return self.returncode


_LOST = -9
"""The status of a fork if the parent of the forks ended before it."""


class _Parent:
    """This process's `tests.support.fork_parent`."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # OpenBLAS starts threads when numpy is imported, unless this setting limits it to one.
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_parent", str(theirs.fileno())],
                cwd=ROOT,
                env=environment | {"OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # standard output is a pipe like the children's, so the buffering is right
                pass_fds=[theirs.fileno()],
            )
        self._lock = threading.Lock()

    def fork(self, order: dict[str, Any], files: list[int]) -> int:
        """Return the pid of a process that carries out the order."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(order).encode()], files)
            answer = self._socket.recv(100)
        assert answer, "the process that forks has ended: see its errors above"
        pid: int = json.loads(answer)
        return pid

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()


def _parent() -> _Parent:
    with _one_at_a_time:
        if not _parents:
            _parents.append(_Parent())
            atexit.register(_parents[0].close)
        return _parents[0]
