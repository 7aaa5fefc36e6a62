"""Dockerfile, compose file and Makefile hold together, and say what the documentation promises."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def environment_of(service: str) -> dict[str, str | None]:
    pairs = [entry.partition("=") for entry in compose()["services"][service]["environment"]]
    return {name: value if equals else None for name, equals, value in pairs}


def dockerfile() -> list[str]:
    """Its instructions, continuation lines joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line]


def test_the_media_ports_published_are_those_bound_and_exposed() -> None:
    low_high = environment_of("backend")["RTC_PORT_RANGE"]
    assert compose()["services"]["backend"]["ports"] == [f"${{PUBLISH_ON:-127.0.0.1}}:{low_high}:{low_high}/udp"]
    assert any(line == f"EXPOSE 8000 {low_high}/udp" for line in dockerfile())


@pytest.mark.parametrize("name", ["docker-compose.yml", "docker-compose.scale.yml"])
def test_compose_mounts_the_folder_of_plugins_wherever_thinkers_run(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text())["services"]
    running_thinkers = [
        service for service in services.values() if "PLUGIN_FOLDERS=/app/plugins" in service.get("environment", [])
    ]
    assert running_thinkers
    assert all("./plugins:/app/plugins:ro" in service["volumes"] for service in running_thinkers)


@pytest.mark.parametrize("name", ["docker-compose.yml", "docker-compose.scale.yml"])
def test_no_setting_is_given_twice(name: str) -> None:
    for service in yaml.safe_load((ROOT / name).read_text())["services"].values():
        given = [entry.partition("=")[0] for entry in service.get("environment", [])]
        assert len(given) == len(set(given)), [each for each in given if given.count(each) > 1]


def test_nothing_is_published_beyond_this_machine_unless_the_operator_says_so() -> None:
    for name, service in compose()["services"].items():
        for port in service.get("ports", []):
            assert port.startswith(("${PUBLISH_ON:-127.0.0.1}:", "127.0.0.1:")), (name, port)
    assert environment_of("backend")["PUBLISH_ON"] == "${PUBLISH_ON:-127.0.0.1}"


@pytest.mark.parametrize("name", ["docker-compose.yml", "docker-compose.scale.yml"])
def test_no_container_may_write_its_image_or_gain_a_privilege(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text())["services"]
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"] and "cap_add" not in service and "privileged" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" in service or "build" in service, "the image built here has a user of its own"


def test_every_image_is_named_by_its_digest() -> None:
    named = re.compile(r"[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}")
    files = [ROOT / "docker-compose.yml", ROOT / "docker-compose.scale.yml", ROOT / "kubernetes" / "redis.yaml"]
    images = [line.split()[1] for file in files for line in file.read_text().splitlines() if " image: " in line]
    images += [line.split()[1] for line in dockerfile() if line.startswith("FROM ")]
    assert len(images) == 8
    assert [image for image in images if not named.fullmatch(image)] == []
    assert len(set(images)) == 3, "one version of each"


def test_redis_has_a_password_and_both_sides_know_it() -> None:
    services = compose()["services"]
    assert services["redis"]["command"][:2] == ["sh", "/redis-users.sh"]
    assert "./kubernetes/redis-users.sh:/redis-users.sh:ro" in services["redis"]["volumes"]
    assert environment_of("backend")["REDIS_PASSWORD_FILE"] == "/run/redis-users/password"
    for name in ("backend", "worker"):
        assert "redis-users:/run/redis-users:ro" in services[name]["volumes"]
    assert services["redis"]["ports"] == ["127.0.0.1:${REDIS_PORT:-6379}:6379"], "for a server beside the containers"


def test_the_commands_of_the_documents_work() -> None:
    assert compose()["services"]["nginx"]["ports"] == ["127.0.0.1:${HTTP_PORT:-80}:80"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = (ROOT / "requirements-dev.txt").read_text()
    names = [re.split(r"[>=<\[]", each)[0] for each in extras["dev"]]
    assert {"pytest", "ruff", "mypy"} <= set(names)
    assert [name for name in names if f"\n{name}==" not in pinned] in ([], ["responder-thinker"])


def test_the_image_runs_as_nobody_in_particular() -> None:
    users = [line.split()[1] for line in dockerfile() if line.startswith("USER ")]
    assert users == ["10001"]
    assert any(line.startswith("HEALTHCHECK") for line in dockerfile())


def test_what_the_dockerfile_copies_is_let_through() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for line in dockerfile()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    }
    assert copied == allowed


def test_the_scripts_are_sound_shell() -> None:
    for script in [*(ROOT / "scripts").glob("*.sh"), ROOT / ".ci" / "run"]:
        subprocess.run(["bash", "-n", str(script)], check=True)
        assert script.stat().st_mode & 0o111, f"{script} is not executable"
