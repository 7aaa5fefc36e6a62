"""A real PostgreSQL server of Debian, in a folder of its own, for the time of a test."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INSTALLED = Path("/usr/lib/postgresql")
READY_WITHIN_S = 20.0


class PostgresServer:
    """One server on a socket in its folder. It opens no port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._databases = 0
        self._process: subprocess.Popen[bytes] | None = None

    def empty_database(self) -> str:
        """Make a database, and return its address in an operator's form."""
        self._databases += 1
        name = f"test{self._databases}"
        subprocess.run([_program("createdb"), "-h", self._folder, "-U", "ledger", name], check=True)
        return f"postgresql://ledger@/{name}?host={self._folder}"

    def start(self) -> None:
        """Start it, and return once it takes connections."""
        options = ("-c", "listen_addresses=", "-c", "fsync=off", "-k", str(self._folder))
        command = [str(_program("postgres")), "-D", str(self._folder / "data"), *options]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **_unprivileged())
        until = time.monotonic() + READY_WITHIN_S
        while subprocess.run([_program("pg_isready"), "-q", "-h", self._folder], check=False).returncode:
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it immediately, like a crash: committed data must be there after `start`."""
        if self._process:
            self._process.send_signal(3)  # SIGQUIT: an immediate shutdown
            self._process.wait(READY_WITHIN_S)
            self._process = None


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Make an empty database cluster and serve it."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    folder.chmod(0o755)
    server = PostgresServer(folder)
    try:
        owner = _unprivileged().get("user")
        if owner is not None:
            shutil.chown(folder, owner)
        data = str(folder / "data")
        initdb = [str(_program("initdb")), "-D", data, "-U", "ledger", "-A", "trust", "--no-sync"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **_unprivileged())
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> Path:
    return max(INSTALLED.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))


def _unprivileged() -> dict[str, Any]:
    """The user that runs PostgreSQL, which refuses to run as root. Debian's package creates it."""
    return {"user": pwd.getpwnam("postgres").pw_uid, "cwd": "/"} if os.geteuid() == 0 else {"cwd": "/"}
