"""A process that has imported the server, and forks a child for each order, which runs one command of the server.

Importing the server takes longer than most tests. The first argument is the number of a socket. Over it, the starter
(`tests/support/forked.py`) sends a command with its folder, its environment, its three standard files and a file for
the exit status. The answer is the pid. The process ends when the socket is closed.

It forks with one thread and no event loop, so a fork behaves like a fresh start: no work is half done in it.
"""

import asyncio
import gc
import importlib
import json
import os
import runpy
import selectors
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from backend import extensions
from backend.app.extensions import installed
from backend.storage import client
from backend.tasks import worker
from backend.tools.discovery import package_modules


def programs_of_extensions() -> list[str]:
    """Return the modules that `python -m` runs for an extension."""
    folders = (path.parent.name for path in Path(extensions.__path__[0]).glob("*/__main__.py"))
    return [f"backend.extensions.{name}.__main__" for name in sorted(folders)]


PROGRAMS = (
    *("backend.app.cli", "backend.app.server", "backend.app.task_worker"),
    *("backend.testing.offline.__main__", *programs_of_extensions()),
)
WHEN_USED = (
    *("aiosqlite", "alembic.command", "alembic.config", "alembic.runtime.migration", "anyio._backends._asyncio"),
    *("httpcore2", "numpy.fft", "openai.resources.chat"),
    *("uvicorn.lifespan.on", "uvicorn.protocols.http.h11_impl"),
)
"""Modules that the server imports at their first use."""
REDIS_TIMEOUT_S = 15.0
"""Seconds that a server in a test waits for Redis.

They are long: tests share the machine, and none of these tests measures time.
"""
REDIS_AS_SHIPPED = "REDIS_AS_SHIPPED"
"""The variable that makes a server wait for Redis only as long as in production: for tests of an unreachable Redis."""
POLL_S = 0.1
"""Seconds between two polls of a task worker. A server may wait as long when it ends."""
ORDER_BYTES = 200_000
FILES = 4
"""Standard input, output and errors of the command, and the file for its exit status."""

Order = dict[str, Any]


class Forks:
    """The parent's side: takes orders, and reports how its forks have ended."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._selector = selectors.DefaultSelector()
        self._selector.register(orders, selectors.EVENT_READ)

    def run(self) -> Order | None:
        """Fork for each order. Returns the order in a fork, and None in the parent when the orders end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._orders:
                    self._tell(key)
                    continue
                packet, files, _, _ = socket.recv_fds(self._orders, ORDER_BYTES, FILES)
                if not packet:
                    return None
                order: Order = json.loads(packet)
                if self._fork(files):
                    return order

    def _fork(self, files: list[int]) -> bool:
        """Return whether this is the fork, with its own standard files and none of the parent's."""
        _assert_nothing_runs()
        pid = os.fork()
        if pid == 0:
            for number, file in enumerate(files[:3]):
                os.dup2(file, number)
            self._selector.close()
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            self._orders.detach()
            return True
        for file in files[:3]:
            os.close(file)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, files[3]))
        self._orders.send(json.dumps(pid).encode())
        return False

    def _tell(self, key: selectors.SelectorKey) -> None:
        pid, file = key.data
        _, status = os.waitpid(pid, 0)
        self._selector.unregister(key.fileobj)
        os.close(key.fd)
        with os.fdopen(file, "wb") as telling:
            telling.write(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _assert_nothing_runs() -> None:
    threads = len([*Path("/proc/self/task").iterdir()])
    assert threads == threading.active_count() == 1, f"{threads} threads: {threading.enumerate()}"
    assert asyncio._get_running_loop() is None


def _become(order: Order) -> None:
    """Run the command as if it were a fresh process: `responder-thinker …` or `python -m module …`."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update({"REDIS_URL": "embedded"} | order["env"])
    if not os.environ.pop(REDIS_AS_SHIPPED, ""):
        client.TIMEOUT_S, client.SOCKET_TIMEOUT_S = REDIS_TIMEOUT_S, REDIS_TIMEOUT_S - 1.0
    program, *arguments = order["command"]
    if Path(program).name == Path(sys.executable).name:
        assert arguments[0] == "-m"
        sys.argv = arguments[1:]
        sys.modules.pop(f"{arguments[1]}.__main__", None)
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    from backend.app.cli import main

    sys.modules["__main__"].__package__ = None  # typer takes the program's name from here
    sys.argv = [program, *arguments]
    main()


if __name__ == "__main__":
    gc.disable()
    for module in (*PROGRAMS, *WHEN_USED):
        importlib.import_module(module)
    for kind in ("tools", "thinkers"):
        [*package_modules(f"backend.{kind}"), *installed().modules(kind)]
    worker.POLL_S = POLL_S
    gc.freeze()
    order = Forks(socket.socket(fileno=int(sys.argv[1]))).run()
    gc.enable()
    if order:
        _become(order)
