"""The manifests are valid for Kubernetes and fit the needs of the server."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from scripts.settings_table import variables

FOLDER = Path(__file__).resolve().parent.parent.parent / "kubernetes"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")


def resources(name: str) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all((FOLDER / name).read_text()) if each]


def backend() -> dict[str, Any]:
    """Return the pod of the backend."""
    deployment = next(each for each in resources("backend.yaml") if each["kind"] == "Deployment")
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def environment() -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in backend()["containers"][0]["env"]}


@pytest.mark.parametrize("name", FILES)
def test_every_field_is_in_the_schema_of_kubernetes(name: str) -> None:
    for resource in resources(name):
        kubernetes_validate.validate(resource, "1.30", strict=True)


PODS = [("backend.yaml", "Deployment"), ("redis.yaml", "StatefulSet")]


@pytest.mark.parametrize(("name", "kind"), PODS)
def test_a_pod_has_no_privileges(name: str, kind: str) -> None:
    pod = next(each for each in resources(name) if each["kind"] == kind)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize(("name", "kind"), PODS)
def test_each_volume_of_a_pod_has_a_size_within_the_disk_of_its_container(name: str, kind: str) -> None:
    pod = next(each for each in resources(name) if each["kind"] == kind)["spec"]["template"]["spec"]
    volumes = [each["emptyDir"] for each in pod["volumes"] if "emptyDir" in each]
    on_disk = [mebibytes(each["sizeLimit"]) for each in volumes if each.get("medium") != "Memory"]
    assert all("sizeLimit" in each for each in volumes)
    [container] = pod["containers"]
    assert sum(on_disk) < mebibytes(container["resources"]["limits"]["ephemeral-storage"])


def mebibytes(size: str) -> int:
    return int(size[:-2]) * {"Mi": 1, "Gi": 1024}[size[-2:]]


def test_a_pod_has_room_for_all_recordings() -> None:
    most = {each.name: each.default for each in variables()}.get("RECORDING__TOTAL_MB", "0")
    [var] = [each["emptyDir"] for each in backend()["volumes"] if each["name"] == "var"]
    assert mebibytes(var["sizeLimit"]) > int(most)


def test_the_ingress_reaches_a_pod_by_http_and_callers_by_the_ports_of_media() -> None:
    closed = next(each for each in resources("namespace.yaml") if each["kind"] == "NetworkPolicy")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress"]}
    policy = next(each for each in resources("backend.yaml") if each["kind"] == "NetworkPolicy")["spec"]
    assert policy["podSelector"] == {"matchLabels": {"app": "backend"}} and policy["policyTypes"] == ["Ingress"]
    http, media = policy["ingress"]
    assert http["from"] and http["ports"] == [{"protocol": "TCP", "port": 8000}]
    low, high = map(int, re.findall(r"\d+", environment()["RTC_PORT_RANGE"]))
    assert media == {"ports": [{"protocol": "UDP", "port": low, "endPort": high}]}


def test_redis_has_the_password_of_the_backend_and_only_the_backend_reaches_it() -> None:
    redis = next(each for each in resources("redis.yaml") if each["kind"] == "StatefulSet")
    container = redis["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["sh", "/scripts/redis-users.sh"]
    password = {"name": "REDIS_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "redis", "key": "REDIS_PASSWORD"}}}
    assert password in container["env"] and password in backend()["containers"][0]["env"]
    policy = next(each for each in resources("redis.yaml") if each["kind"] == "NetworkPolicy")["spec"]
    assert policy["podSelector"] == {"matchLabels": {"app": "redis"}}
    assert policy["policyTypes"] == ["Ingress", "Egress"] and "egress" not in policy
    assert policy["ingress"][0]["from"][0] == {"podSelector": {"matchLabels": {"app": "backend"}}}
    generated = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["configMapGenerator"]
    assert generated == [{"name": "redis-users", "files": ["redis-users.sh"]}]


def test_kustomize_lists_every_file() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == FILES


def test_the_manifests_use_existing_settings_and_pass_the_address_of_the_node() -> None:
    assert set(environment()) <= {each.name for each in variables()}
    given = [each["name"] for each in backend()["containers"][0]["env"]]
    assert len(given) == len(set(given)), "a setting is given twice"
    assert environment()["SHARE_SESSIONS"] == "true"
    address = next(each for each in backend()["containers"][0]["env"] if each["name"] == "RTC_FORCE_HOST")
    assert address["valueFrom"]["fieldRef"]["fieldPath"] == "status.hostIP"
    assert backend()["hostNetwork"] is True


def test_a_pod_has_time_to_drain_and_probes_for_readiness() -> None:
    [container] = backend()["containers"]
    command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == "sleep" and int(seconds) >= 5, "callers are still sent to a pod that has begun to end"
    assert backend()["terminationGracePeriodSeconds"] >= int(environment()["DRAIN_S"]) + int(seconds) + 30
    assert backend()["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_a_node_has_media_ports_for_its_calls() -> None:
    low, high = map(int, re.findall(r"\d+", environment()["RTC_PORT_RANGE"]))
    assert high - low >= 100 * int(environment()["WORKERS"])
