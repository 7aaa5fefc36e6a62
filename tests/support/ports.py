"""Ports of this machine: free ones, and ports of programs that have begun to listen."""

import socket
import subprocess
import time

WITHIN_S = 20.0


def free_port() -> int:
    """A port of loopback on which no program listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the process listens on the port."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended by itself"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError("the server does not answer")
