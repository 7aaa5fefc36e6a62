"""Dockerfile, Compose files and Makefile agree with each other and with the documents."""

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.errors import SettingsError
from backend.settings.settings import load_settings

COMPOSE_FILES = pytest.mark.parametrize("name", ["docker-compose.yml", "docker-compose.scale.yml"])
ROOT = Path(__file__).resolve().parent.parent.parent


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def environment_of(service: str) -> dict[str, str | None]:
    pairs = [entry.partition("=") for entry in compose()["services"][service]["environment"]]
    return {name: value if equals else None for name, equals, value in pairs}


def dockerfile() -> list[str]:
    """Return the instructions with continuation lines joined, without comments."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line]


def container(name: str, shell: dict[str, str], *, removes: bool) -> dict[str, str]:
    """Return the environment of the backend's container: what the image sets, and what Compose adds from `shell`.

    `removes`: a name without a value removes what the image sets. Compose 2.24 to 2.28 kept it; others remove it.
    """
    [of_image] = [shlex.split(line)[1:] for line in dockerfile() if line.startswith("ENV ")]
    found = dict(pair.split("=", 1) for pair in of_image)
    for entry in yaml.safe_load((ROOT / name).read_text())["services"]["backend"]["environment"]:
        variable, given, value = entry.partition("=")
        if given:
            found[variable] = re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda m: shell.get(m[1]) or m[2] or "", value)
        elif variable in shell:
            found[variable] = shell[variable]
        elif removes:
            found.pop(variable, None)
    return found


@COMPOSE_FILES
def test_without_a_key_the_backend_starts_by_any_version_of_compose(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in ({"SECRET_KEY": "k" * 32}, {"SECRET_KEY": "k" * 32, "REQUIRE_PROVIDER": "true"}):
        kept, removed = (container(name, shell, removes=each) for each in (False, True))
        assert kept == removed
        here = {key: value for key, value in kept.items() if not value.startswith("/")}  # without the image's paths
        monkeypatch.setattr(os, "environ", here)
        if "REQUIRE_PROVIDER" in shell:
            with pytest.raises(SettingsError, match="set OPENAI_API_KEY or RESPONDERS"):
                load_settings(_env_file=None)
        else:
            assert load_settings(_env_file=None).provider.names == []


@COMPOSE_FILES
def test_folders_in_memory_have_a_size(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text())["services"].values()
    folders = [each for service in services for each in service.get("tmpfs", [])]
    assert len(folders) > 3 and all("size=" in each for each in folders)


@pytest.mark.document("001", "traces, settings and Docker")
def test_the_published_media_ports_are_those_that_are_bound_and_exposed() -> None:
    low_high = environment_of("backend")["RTC_PORT_RANGE"]
    assert compose()["services"]["backend"]["ports"] == [f"${{PUBLISH_ON:-127.0.0.1}}:{low_high}:{low_high}/udp"]
    assert any(line == f"EXPOSE 8000 {low_high}/udp" for line in dockerfile())


@COMPOSE_FILES
def test_compose_mounts_the_folder_of_plugins_in_each_service_with_thinkers(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text())["services"]
    running_thinkers = [
        service for service in services.values() if "PLUGIN_FOLDERS=/app/plugins" in service.get("environment", [])
    ]
    assert running_thinkers
    assert all("./plugins:/app/plugins:ro" in service["volumes"] for service in running_thinkers)


@COMPOSE_FILES
def test_no_setting_is_given_twice(name: str) -> None:
    for service in yaml.safe_load((ROOT / name).read_text())["services"].values():
        given = [entry.partition("=")[0] for entry in service.get("environment", [])]
        assert len(given) == len(set(given)), [each for each in given if given.count(each) > 1]


def test_compose_publishes_ports_on_loopback_by_default() -> None:
    for name, service in compose()["services"].items():
        for port in service.get("ports", []):
            assert port.startswith(("${PUBLISH_ON:-127.0.0.1}:", "127.0.0.1:")), (name, port)
    assert environment_of("backend")["PUBLISH_ON"] == "${PUBLISH_ON:-127.0.0.1}"


@COMPOSE_FILES
def test_no_container_may_write_to_its_image_or_gain_privileges(name: str) -> None:
    services = yaml.safe_load((ROOT / name).read_text())["services"]
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"] and "cap_add" not in service and "privileged" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" in service or "build" in service, "a service of a foreign image runs as root"


def test_every_image_is_pinned_by_its_digest() -> None:
    named = re.compile(r"[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}")
    files = [ROOT / "docker-compose.yml", ROOT / "docker-compose.scale.yml", ROOT / "kubernetes" / "redis.yaml"]
    images = [line.split()[1] for file in files for line in file.read_text().splitlines() if " image: " in line]
    images += [line.split()[1] for line in dockerfile() if line.startswith("FROM ")]
    assert len(images) == 8
    assert [image for image in images if not named.fullmatch(image)] == []
    assert len(set(images)) == 3, "an image is used in two versions"


@pytest.mark.document("001", "traces, settings and Docker")
def test_redis_and_its_clients_have_the_same_password() -> None:
    services = compose()["services"]
    assert services["redis"]["command"][:2] == ["sh", "/redis-users.sh"]
    assert "./kubernetes/redis-users.sh:/redis-users.sh:ro" in services["redis"]["volumes"]
    assert environment_of("backend")["REDIS_PASSWORD_FILE"] == "/run/redis-users/password"
    assert environment_of("backend")["REDIS_URL"] == "redis://default@redis:6379/0", (
        "without a user's name, a Redis that needs no password refuses one"
    )
    assert environment_of("redis") == {"REDIS_PASSWORD": None, "ACCESS": None, "PUBLISH_ON": "${PUBLISH_ON:-127.0.0.1}"}
    for name in ("backend", "worker"):
        assert "redis-users:/run/redis-users:ro" in services[name]["volumes"]
    assert services["redis"]["ports"] == ["127.0.0.1:${REDIS_PORT:-6379}:6379"], (
        "a server on this machine cannot reach Redis"
    )


@pytest.mark.block("001/docker.sh")
@pytest.mark.document("001", "traces, settings and Docker")
def test_compose_serves_http_on_loopback_and_development_packages_are_pinned() -> None:
    assert compose()["services"]["nginx"]["ports"] == ["127.0.0.1:${HTTP_PORT:-80}:80"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = (ROOT / "requirements-dev.txt").read_text()
    names = [re.split(r"[>=<\[]", each)[0] for each in extras["dev"]]
    assert {"pytest", "ruff", "mypy"} <= set(names)
    assert [name for name in names if f"\n{name}==" not in pinned] in ([], ["responder-thinker"])


def test_the_image_runs_as_an_unprivileged_user() -> None:
    users = [line.split()[1] for line in dockerfile() if line.startswith("USER ")]
    assert users == ["10001"]
    assert any(line.startswith("HEALTHCHECK") for line in dockerfile())


def test_the_dockerignore_lets_through_what_the_dockerfile_copies() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for line in dockerfile()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    }
    assert copied == allowed


def test_the_shell_scripts_are_valid_and_executable() -> None:
    for script in [*(ROOT / "scripts").glob("*.sh"), ROOT / ".ci" / "run"]:
        subprocess.run(["bash", "-n", str(script)], check=True)
        assert script.stat().st_mode & 0o111, f"{script} is not executable"
