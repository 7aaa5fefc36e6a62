"""The files of a model that is being loaded do not outlive the process for long, however it ends."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from backend.extensions.local.recognition.scratch import scratch_folder

LOADING = """
import time
from backend.extensions.local.recognition.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "weights").write_bytes(b"0" * 100)
    print(folder, flush=True)
    time.sleep(60)
"""


def loading(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that loads, and return it with its folder."""
    command = [sys.executable, "-c", LOADING]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(temporary)})
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_is_deleted_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, left = loading(tmp_path)
    living, used = loading(tmp_path)
    try:
        killed.kill()
        killed.wait()
        assert (left / "weights").exists()
        with scratch_folder() as own:
            assert [left.exists(), used.exists(), own.exists()] == [False, True, True]
        assert not own.exists()
    finally:
        for process in (killed, living):
            process.kill()
            process.communicate()
