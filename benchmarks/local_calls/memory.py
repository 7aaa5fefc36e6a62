"""The memory of a server with its local Responder, by process: what each takes (PSS), shared pages shared out."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from benchmarks.processes import family
from benchmarks.soak import Sample, grown, warm

ROLES = {
    "backend.extensions.local.recognition": "recognition",
    "backend.extensions.local.synthesis": "synthesis",
    "backend.extensions.local": "local Responder",
    "utterance_reader": "utterance reader",
    "redis-server": "Redis",
}
"""What a command line contains, and whose it is; the first that fits."""
SERVER, OTHER = "server", "other"
POOL = ("local Responder", "recognition", "synthesis")
"""What a server has in place of a provider."""
EVERY_S = 5.0
PAUSE_S = 10.0


@dataclass(frozen=True, slots=True)
class Growth:
    """What each process may grow by, in megabytes, and the pool may take."""

    each_mb: float
    pool_mb: float


def role(command: Sequence[str], *, is_root: bool) -> str:
    """Return whose process has this command line."""
    if is_root:
        return SERVER
    line = " ".join(command)
    return next((name for mark, name in ROLES.items() if mark in line), OTHER)


class MemoryWatch:
    """Looks at a process and all below it every few seconds, in a thread of its own; `with` it."""

    def __init__(self, pid: int, tell: Callable[[str], None], every_s: float = EVERY_S) -> None:
        self.samples: dict[str, list[Sample]] = {}
        self._pid, self._tell, self._every_s = pid, tell, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __repr__(self) -> str:
        return f"MemoryWatch({self._pid}, {sorted(self.samples)})"

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        began, told = time.monotonic(), 0
        while not self._over.wait(self._every_s):
            at_s = time.monotonic() - began
            seen = look(self._pid, at_s)
            for name, sample in seen.items():
                self.samples.setdefault(name, []).append(sample)
            if at_s // 60 >= told:
                told += 1
                self._tell(f"{at_s / 60:5.1f} min  " + "  ".join(f"{n} {s.memory_mb:.0f} MB" for n, s in seen.items()))


def look(pid: int, at_s: float) -> dict[str, Sample]:
    """Return one sample of each role; processes of the same role are added up."""
    found: dict[str, Sample] = {}
    for process in family(pid):
        try:
            name = role(process.cmdline(), is_root=process.pid == pid)
            mb = process.memory_full_info().pss / 1e6
            files, threads = process.num_fds(), process.num_threads()
        except psutil.NoSuchProcess:
            continue
        before = found.get(name, Sample(at_s, 0.0, 0, 0))
        found[name] = Sample(at_s, before.memory_mb + mb, before.files + files, before.threads + threads)
    return found


def faults(samples: Mapping[str, Sequence[Sample]], seconds: float, growth: Growth) -> list[str]:
    """Return what grew, by process, and whether the pool took more than it may. Pure."""
    found = [f"{name}: {fault}" for name, of in samples.items() for fault in grown(warm(of, seconds), growth.each_mb)]
    most = sum(max(sample.memory_mb for sample in samples[name]) for name in POOL if name in samples)
    missing = [f"{name} was not seen" for name in POOL if name not in samples]
    return found + missing + ([f"the pool took {most:.0f} MB"] if most > growth.pool_mb else [])


def table(samples: Mapping[str, Sequence[Sample]], seconds: float) -> str:
    """Return the memory of each process as Markdown: when warm, in the last third, at most."""
    rows = ["| process | MB after a third | in the last third | most |", "|---|---:|---:|---:|"]
    columns = {
        name: _row([s.memory_mb for s in of], [s.memory_mb for s in warm(of, seconds)])
        for name, of in sorted(samples.items())
    }
    rows += [f"| {name} | " + " | ".join(f"{mb:.0f}" for mb in row) + " |" for name, row in columns.items()]
    for name, members in (("**the pool**", POOL), ("**all**", tuple(columns))):
        sums = [sum(column) for column in zip(*(columns[each] for each in members if each in columns), strict=True)]
        rows.append(f"| {name} | " + " | ".join(f"**{mb:.0f}**" for mb in sums) + " |")
    return "\n".join(rows)


def _row(all_mb: Sequence[float], warm_mb: Sequence[float]) -> tuple[float, float, float]:
    third = max(1, len(warm_mb) // 3)
    return statistics.median(warm_mb[:third]), statistics.median(warm_mb[-third:]), max(all_mb)
