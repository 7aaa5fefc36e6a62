"""A real CalDAV server, Radicale, on loopback: started for a test and ended with it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.testing.peer import end
from tests.support.ports import free_port, wait_listening

USERNAME, PASSWORD = "voice", "secret of the tests"


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
