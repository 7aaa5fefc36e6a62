"""The processes of a run: started on their cores, ended by their own pids, and read while they live."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
READY_WITHIN_S = 40.0
END_WITHIN_S = 15.0
SETTLED_S = 1.0
SETTLED_SHARE = 0.15
"""Share of a core below which nothing is starting."""
SERVE = "from backend.app.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of each process; the same cores twice if there is only one, or if all are shared on purpose."""

    server: frozenset[int]
    others: frozenset[int]

    @classmethod
    def available(cls, workers: int = 1, *, shared: bool = False) -> Cores:
        """The first core for the server, or as many as it has processes if others remain; the rest for the others."""
        all_of_them = sorted(os.sched_getaffinity(0))
        if shared or len(all_of_them) == 1:
            return cls(frozenset(all_of_them), frozenset(all_of_them))
        own = workers if workers < len(all_of_them) else 1
        return cls(frozenset(all_of_them[:own]), frozenset(all_of_them[own:]))

    def described(self, workers: int) -> str:
        """In words."""
        server = f"{workers} server process{'es' if workers > 1 else ''}"
        if self.server == self.others:
            return f"{server}, callers and Responder sharing {_cores(self.server)}"
        return f"{server} on {_cores(self.server)}, callers and Responder on {_cores(self.others)}"


class Child:
    """One process of the run, and its output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout
        self.process = process
        self.stdin, self._stdout = process.stdin, process.stdout
        self._printed = bytearray()

    def __repr__(self) -> str:
        return f"Child(pid {self.process.pid}, status {self.process.poll()})"

    def until(self, mark: bytes, within_s: float) -> bytes:
        """The output up to and with `mark`. Raises `TimeoutError`, or `EOFError` when the process ended before."""
        deadline = time.monotonic() + within_s
        while (end := self._printed.find(mark)) < 0:
            if not select.select([self._stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"a child of the benchmark did not answer within {within_s:g} s")
            piece = os.read(self._stdout.fileno(), 1 << 16)
            if not piece:
                raise EOFError("a child of the benchmark ended early; its last words are above")
            self._printed += piece
        taken = bytes(self._printed[: end + len(mark)])
        del self._printed[: end + len(mark)]
        return taken

    def end(self) -> None:
        """Send SIGTERM, then SIGKILL to that process."""
        self.process.terminate()
        try:
            self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stdin.close()
        self._stdout.close()


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of a process and its children, so far."""

    cpu_s: float
    """All of them but Redis, all threads, user and system."""
    redis_cpu_s: float
    """The embedded Redis among them."""
    waited_s: float
    """Seconds that their threads were ready while another had the core; 0 if the system does not report it."""
    rss: int
    """Resident bytes, Redis left out."""

    def since(self, earlier: Usage) -> Usage:
        """The difference; memory as it is now."""
        return Usage(
            self.cpu_s - earlier.cpu_s,
            self.redis_cpu_s - earlier.redis_cpu_s,
            self.waited_s - earlier.waited_s,
            self.rss,
        )


def usage(pid: int) -> Usage:
    """As it is now."""
    own, redis = _family(pid)
    return Usage(
        sum(map(_cpu_s, own)), sum(map(_cpu_s, redis)), sum(_waited_s(each.pid) for each in own), sum(map(_rss, own))
    )


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants."""
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def settle(pid: int, within_s: float) -> None:
    """Wait until a process and its children have started: until they use next to no time for a while."""
    deadline = time.monotonic() + within_s
    spent = usage(pid).cpu_s
    while time.monotonic() < deadline:
        time.sleep(SETTLED_S)
        before, spent = spent, usage(pid).cpu_s
        if spent - before < SETTLED_SHARE * SETTLED_S:
            return


@contextmanager
def provider(script: Mapping[str, Any], cores: frozenset[int]) -> Iterator[tuple[str, int]]:
    """The offline Responder following `script`, on `cores`: its base address and pid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_text(json.dumps(script))
        command = [sys.executable, "-m", "backend.testing.offline", "--exit-with-parent", "--script", str(path)]
        with started(command, cores, folder) as child:
            yield str(json.loads(child.until(b"\n", READY_WITHIN_S))["listening"]), child.process.pid


@contextmanager
def server(
    provider_url: str, cores: frozenset[int], env: Mapping[str, str], nice: int = 0, *, serve: str = SERVE
) -> Iterator[tuple[str, int]]:
    """`responder-thinker serve` on `cores`, without limits, upstream of `provider_url`: its address and pid.

    `nice`: lower its priority by so much. `serve`: the Python that serves.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": f"{provider_url}/v1",
            "DATA_DIR": f"{folder}/var",
            "OFFERS_PER_MINUTE": "0",
            "SESSION_CAP": "0",
            "ADMISSION_MAX_LAG_MS": "0",  # the measurement finds the limit
            "COLUMNS": "200",
        }
        command = ["nice", "-n", str(nice), sys.executable, "-c", serve, "serve", "--port", "0"]
        with started(command, cores, folder, settings | dict(env)) as child:
            found = re.search(r"http://[\w.]+:(\d+)", child.until(b"Ctrl-C", READY_WITHIN_S).decode())
            assert found, "the server did not say where it listens"
            yield f"http://127.0.0.1:{found[1]}", child.process.pid


def leave_on_sigterm() -> None:
    """Make SIGTERM leave the program through its `with` blocks, so that a timeout leaves no server behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def started(
    command: Sequence[str], cores: frozenset[int], folder: str, env: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """A child on `cores` from its start, ended on the way out: SIGTERM, then SIGKILL."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)  # inherited by the child, all its threads and children
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=kept | {"PYTHONPATH": str(ROOT), "REDIS_URL": "embedded"} | dict(env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    finally:
        os.sched_setaffinity(0, own)
    child = Child(process)
    try:
        yield child
    finally:
        child.end()


def _family(pid: int) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """The process with its descendants, and which of those are Redis."""
    own, redis = list[psutil.Process](), list[psutil.Process]()
    for child in family(pid):
        (redis if _name(child).startswith("redis") else own).append(child)
    return own, redis


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _cores(cores: frozenset[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, sorted(cores)))}"


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _waited_s(pid: int) -> float:
    """Second column of Linux's schedstat: nanoseconds in which it was runnable but not running."""
    waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            waited += int(path.read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # the thread has ended, or the system does not tell
    return waited / 1e9
