"""The folder a model is loaded from is gone afterwards, also where its process was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backend.extensions.local.recognition.scratch import scratch_folder

HOLDS = """
import time
from backend.extensions.local.recognition.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "weights").write_bytes(b"x" * 1000)
    print(folder, flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = Path(__file__).parents[3]
    processes, folders = [], []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDS], env={"TMPDIR": str(tmp_path)}, cwd=root, stdout=subprocess.PIPE
        )
        assert process.stdout
        processes.append(process)
        folders.append(Path(process.stdout.readline().decode().strip()))
    try:
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        assert folders[0].exists()
        with scratch_folder() as own:
            assert own.is_dir()
            assert not folders[0].exists()
            assert (folders[1] / "weights").exists()
        assert not own.exists()
    finally:
        processes[1].kill()
        for process in processes:
            process.communicate()
