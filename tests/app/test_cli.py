"""The command as a process: what it prints, its status, and no traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.running_server import COMMAND

RUN_WITHIN_S = 60.0


def run(*arguments: str | Path, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `responder-thinker …` in `folder` to its end."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=kept | {"COLUMNS": "200", "REDIS_URL": "embedded"} | env,
        capture_output=True,
        text=True,
        timeout=RUN_WITHIN_S,
        check=False,
    )


def refused(ended: subprocess.CompletedProcess[str]) -> str:
    """Return what a command printed that ended with status 2 and without a traceback."""
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(("command", "words"), [((), ("serve", "talk")), (("serve",), ("--port", "--host"))])
def test_help_names_commands_and_options(tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = run(*command, "--help", folder=tmp_path)
    assert ended.returncode == 0
    assert all(word in ended.stdout for word in words)


def test_a_wrong_setting_is_named_with_advice(tmp_path: Path) -> None:
    said = refused(run("serve", folder=tmp_path, VAD__THRESHOLD="2", REDIS_URL="localhost"))
    assert "VAD__THRESHOLD" in said and "REDIS_URL" in said and "redis://localhost:6379/0" in said
    assert ".env.example" in said


def test_an_address_of_another_machine_is_refused_with_the_option(tmp_path: Path) -> None:
    assert "--host" in refused(run("serve", "--host", "192.0.2.1", folder=tmp_path))


@pytest.mark.document("002", "logs and databases")
def test_a_wrong_log_level_is_named(tmp_path: Path) -> None:
    assert "LOG_LEVEL" in refused(run("serve", folder=tmp_path, LOG_LEVEL="loud"))
    assert "--port" in refused(run("serve", "--port", "70000", folder=tmp_path, LOG_LEVEL="INFO"))
