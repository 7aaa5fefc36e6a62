"""Places for calls: as many as there are, for any process, and free again when their process is gone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from backend.errors import Overloaded
from backend.sessions.places import CallPlaces

ANOTHER_PROCESS = """
import sys
from pathlib import Path
from backend.sessions.places import CallPlaces
places = CallPlaces(Path(sys.argv[1]), 2)
places.take("theirs")
print("taken", flush=True)
sys.stdin.read()
"""


def test_processes_share_the_places_and_one_that_is_killed_gives_its_own_back(tmp_path: Path) -> None:
    ours = CallPlaces(tmp_path, 2)
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline() == b"taken\n"
        ours.take("first")
        with pytest.raises(Overloaded) as refused:
            ours.take("second")
        assert "LOCAL_CALLS" in refused.value.hint and refused.value.retry_after_s
        other.kill()
    ours.take("second")
    with pytest.raises(Overloaded):
        ours.take("third")
    ours.free("first")
    ours.free("first")
    ours.take("third")


def test_no_bound_takes_any_number_and_writes_nothing(tmp_path: Path) -> None:
    places = CallPlaces(tmp_path / "calls", 0)
    for number in range(100):
        places.take(str(number))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_leaves_each_process_its_own_count_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "calls").write_text("a file where the folder should be")
    places = CallPlaces(tmp_path / "calls", 1)
    places.take("first")
    with pytest.raises(Overloaded):
        places.take("second")
    CallPlaces(tmp_path / "calls", 1).take("another process's")
    places.free("first")
    places.take("second")
    assert [each.name for each in tmp_path.iterdir()] == ["calls"]
