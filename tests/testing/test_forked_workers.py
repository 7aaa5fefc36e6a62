"""Workers that are forked from the process that collects report as if the tests had run there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "pyproject.toml", "--forks", "2")


def run(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests in two forks, beside a file with one that passes."""
    (folder / "test_given.py").write_text(f"import os\nimport pytest\n{tests}")
    (folder / "test_other.py").write_text("def test_passes(tmp_path): (tmp_path / 'a').write_text('a')\n")
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)


def test_what_passes_is_skipped_or_fails_is_counted_and_shown(tmp_path: Path) -> None:
    ran = run(
        tmp_path, "def test_skips(): pytest.skip('why')\ndef test_fails():\n    print('shown')\n    assert 1 == 2\n"
    )
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed, 1 skipped" in ran.stdout
    assert "assert 1 == 2" in ran.stdout and "shown" in ran.stdout


def test_no_further_test_begins_after_the_first_failure_if_that_is_asked_for(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test_fails(): assert False\ndef test_next(): assert False\n", "-x")
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 failed" in ran.stdout and "test_next" not in ran.stdout


def test_a_worker_that_ends_in_a_test_is_an_error_which_names_the_test(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test_ends(): os._exit(3)\n")
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "a worker ended with 3; its last test was" in ran.stderr and "test_ends" in ran.stderr
