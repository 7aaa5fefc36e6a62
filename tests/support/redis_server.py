"""A real redis-server for tests: started on a unix socket, frozen, killed, restarted and stopped by its pid.

Its clients have the rights of a deployment's clients, so that tests notice a missing right in
`kubernetes/redis-users.sh`.
"""

import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_WITHIN_S = 5.0
USERS = Path(__file__).resolve().parents[2] / "kubernetes" / "redis-users.sh"


OF_TESTS = ("+flushall", "+keys", "+client|list")
"""Further commands of the tests: they empty it between two tests, and look at its keys."""


def allowed() -> list[str]:
    """The rights of the user of a deployment's Redis, in Redis's words."""
    found = re.search(r"user default on %s (.+?)\\n", USERS.read_text())
    assert found
    return found[1].split()


class RedisProcess:
    """One redis-server in a short folder of its own; nothing is saved."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        binary = shutil.which("redis-server")
        assert binary, "tests need redis-server: run make install"
        self.socket.unlink(missing_ok=True)
        arguments = ["--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.socket.parent)]
        arguments += ["--user", "default", "on", "nopass", *allowed(), *OF_TESTS]
        self._process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL, env={"LC_ALL": "C"})
        self._wait_until_ready()

    def freeze(self) -> None:
        """Freeze it: connections stay open, nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it. Does nothing if it is not running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(str(self.socket))
                    return
                except OSError:
                    time.sleep(0.01)
        raise AssertionError("redis-server did not start in time")


@contextmanager
def running_redis() -> Iterator[RedisProcess]:
    """A running server, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="redis-", dir="/tmp") as folder:
        server = RedisProcess(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()
