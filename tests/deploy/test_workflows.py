"""Hosted CI runs `make test` on every supported Python, and publishes without a secret."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def jobs_of(name: str) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())["jobs"]
    return jobs


def test_the_check_runs_make_test_on_every_python() -> None:
    job = jobs_of("check")["test"]
    assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert any("make test" in step.get("run", "") for step in job["steps"])
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_a_release_is_published_without_a_secret_after_a_test_of_its_wheel() -> None:
    jobs = jobs_of("release")
    assert jobs["test"]["needs"] == "build" and jobs["publish"]["needs"] == "test"
    assert jobs["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_every_job_has_a_time_limit_and_minimal_permissions() -> None:
    for name in ("check", "release"):
        text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        assert all(job["timeout-minutes"] <= 45 for job in jobs_of(name).values())
