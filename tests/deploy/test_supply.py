"""Installed packages are the pinned ones, and shipped ones can be listed and audited."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.audit import read_npm_audit, read_pip_audit
from tests.support.of_extensions import is_of_deleted

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


def pinned(name: str) -> dict[str, str]:
    return dict(PACKAGE.findall((ROOT / name).read_text()))


@pytest.mark.parametrize(
    "name",
    ["requirements.txt", "requirements-dev.txt", *map(str, ROOT.glob("tests/extensions/*/clients/requirements.txt"))],
)
def test_every_package_is_pinned_with_hashes_and_no_index_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.sub(r"\\\n\s*", " ", text).splitlines()
    assert len(entries) > 50 and "://" not in text
    assert [entry for entry in entries if not re.search(r"==.* --hash=sha256:[0-9a-f]{64}", entry)] == []


def test_the_shipped_packages_are_the_tested_ones() -> None:
    assert set(pinned("requirements.txt").items()) <= set(pinned("requirements-dev.txt").items())


def test_packages_are_installed_by_their_hashes_everywhere() -> None:
    installing = re.compile(r"-r (requirements|\"\$requirements\")|uv build .*--build-constraints requirements-dev.txt")
    found = 0
    for name in ("scripts/install.sh", "Dockerfile"):
        for line in (ROOT / name).read_text().splitlines():
            if installing.search(line):
                found += 1
                assert "--require-hashes" in line, line
    assert found == 4
    assert "hatchling" in pinned("requirements-dev.txt")


def test_a_package_with_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "thing-1.0-py3-none-any.whl"
    package.write_bytes(b"not what was pinned")
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--require-hashes", "--no-index"]
    ran = subprocess.run(
        [*command, "--find-links", str(tmp_path), "-r", str(wanted)], capture_output=True, text=True, check=False
    )
    assert ran.returncode and "DO NOT MATCH THE HASHES" in ran.stderr


def test_the_bill_of_materials_lists_shipped_packages_with_their_hashes(tmp_path: Path) -> None:
    recipe = re.search(r"^sbom:.*\n((?:\t.*\n?)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    bill = tmp_path / "sbom.json"
    command = recipe[1].replace("@", "").replace("build/sbom.json", str(bill))
    subprocess.run(["sh", "-ec", command], cwd=ROOT, check=True, capture_output=True)
    found = json.loads(bill.read_text())
    assert found["bomFormat"] == "CycloneDX"
    assert {each["name"]: each["version"] for each in found["components"]}.keys() == pinned("requirements.txt").keys()
    assert all(each["externalReferences"][0]["hashes"] for each in found["components"])
    assert found["metadata"]["component"]["name"] == "responder-thinker"


def test_the_audit_reports_vulnerabilities_and_a_silent_registry() -> None:
    vulnerable = {"name": "a", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}]}
    unknown = {"name": "b", "skip_reason": "not found"}
    audit = read_pip_audit(json.dumps({"dependencies": [vulnerable, unknown]}))
    assert audit.known == ("a 1.0: CVE-1, mended in 1.1",)
    assert audit.unanswered == "1 of 2 packages are unknown to the registry"
    assert read_npm_audit('{"message": "405 Method Not Allowed"}').unanswered == "405 Method Not Allowed"
    assert read_npm_audit('{"vulnerabilities": {"axe": {"severity": "high"}}}').known == ("axe: high",)


def test_the_security_page_covers_each_chapter_of_the_standard_and_names_files_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert [int(number) for number in re.findall(r"^\| V(\d+) ", text, re.MULTILINE)] == list(range(1, 15))
    named = re.findall(r"`((?:backend|tests|docs)/[\w/.]+)`", text) + re.findall(r"\]\(([\w/.]+)\)", text)
    assert [path for path in named if not (ROOT / path).exists() and not is_of_deleted(path)] == []
    assert "## Report a vulnerability" in text and "## Threat model" in text


@pytest.mark.parametrize(
    ("page", "heading", "least"),
    [("security-tests.md", "# What is tested", 60), ("architecture.md", "### By hand", 6)],
)
def test_every_test_that_a_list_names_exists(page: str, heading: str, least: int) -> None:
    section = (ROOT / "docs" / page).read_text().partition(heading)[2].partition("\n### ")[0]
    rows = re.split(r"^(?:\| (?!property)|- )", section, flags=re.MULTILINE)[1:]
    assert len(rows) > least
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            found = is_of_deleted(f"tests/{file}") or f"def {test}(" in (ROOT / "tests" / file).read_text()
            assert found, (file, test)
