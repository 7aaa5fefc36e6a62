"""The command, as a process: what it prints, its status, and a traceback for nobody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.running_server import COMMAND

RUN_WITHIN_S = 60.0


def run(*arguments: str | Path, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """`responder-thinker …` in `folder`, to its end."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=kept | {"COLUMNS": "200"} | env,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )


def refused(ended: subprocess.CompletedProcess[str]) -> str:
    """What a command said that ended with status 2, in words and not with a traceback."""
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(("command", "words"), [((), ("serve", "talk")), (("serve",), ("--port", "--host"))])
def test_help_names_what_there_is(tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = run(*command, "--help", folder=tmp_path)
    assert ended.returncode == 0
    assert all(word in ended.stdout for word in words)


def test_a_setting_that_makes_no_sense_is_named_with_its_mend(tmp_path: Path) -> None:
    said = refused(run("serve", folder=tmp_path, VAD__THRESHOLD="2", REDIS_URL="localhost"))
    assert "VAD__THRESHOLD" in said and "REDIS_URL" in said and "redis://localhost:6379/0" in said
    assert ".env.example" in said


def test_an_address_that_is_not_this_machines_is_refused_in_words(tmp_path: Path) -> None:
    assert "--host" in refused(run("serve", "--host", "192.0.2.1", folder=tmp_path))


def test_the_log_level_is_a_setting_too(tmp_path: Path) -> None:
    assert "LOG_LEVEL" in refused(run("serve", folder=tmp_path, LOG_LEVEL="loud"))
    assert "--port" in refused(run("serve", "--port", "70000", folder=tmp_path, LOG_LEVEL="INFO"))
