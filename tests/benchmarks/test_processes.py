"""The processes of a run end with it, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil

from benchmarks.processes import ROOT

PROGRAM = """
import os, sys, time
from benchmarks.processes import leave_on_sigterm, started
leave_on_sigterm()
with started([sys.executable, "-c", "import time; time.sleep(60)"], frozenset(os.sched_getaffinity(0)), ".") as child:
    print(child.process.pid, flush=True)
    time.sleep(60)
"""


def test_a_benchmark_that_is_told_to_end_leaves_no_process_behind() -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout
        child = int(bench.stdout.readline())
        assert psutil.pid_exists(child)
        bench.terminate()
        assert bench.wait(20) == 128 + signal.SIGTERM
    assert not psutil.pid_exists(child)
