"""A real CalDAV server, Radicale, on loopback: started for a test and ended with it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.testing.peer import end

USERNAME, PASSWORD = "voice", "secret of the tests"
START_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Radicale:
    """The running server."""

    url: str
    """The account's calendar home."""
    process: subprocess.Popen[bytes]


@contextmanager
def radicale(folder: Path) -> Iterator[Radicale]:
    """A server that keeps its calendars in `folder`, with one account."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "users").write_text(f"{USERNAME}:{PASSWORD}\n")
    port = free_port()
    options = {
        "--hosts": f"127.0.0.1:{port}",
        "--auth-type": "htpasswd",
        "--auth-htpasswd-filename": str(folder / "users"),
        "--auth-htpasswd-encryption": "plain",
        "--auth-delay": "0",
        "--storage-filesystem-folder": str(folder / "collections"),
        "--logging-level": "error",
    }
    command = [sys.executable, "-m", "radicale", "--config", "", *(part for pair in options.items() for part in pair)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_listening(process, port)
        yield Radicale(f"http://127.0.0.1:{port}/{USERNAME}/", process)
    finally:
        end(process)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the process listens on the port."""
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended by itself"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")
