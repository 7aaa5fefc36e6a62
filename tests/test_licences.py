"""No package for serving is under the GPL."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

REQUIREMENTS = (Path(__file__).resolve().parents[1] / "requirements.txt").read_text()
GPL = re.compile(r"(?<!L)(?<!Lesser )\b(?:AGPL|GPL|GNU (?:Affero )?General Public)")
LEAST = 50
"""Packages that the test must have checked; the others are for other systems."""


def licences(package: str) -> list[str]:
    """Return the licences that a package states: an expression, the beginning of a text, or classifiers."""
    metadata = distribution(package).metadata.json
    classifiers = [each for each in metadata.get("classifier", []) if each.startswith("License")]
    return [str(metadata.get("license_expression", "")), str(metadata.get("license", ""))[:80], *classifiers]


def test_no_package_for_serving_is_under_the_gpl() -> None:
    looked_at, under_gpl = 0, []
    for name in re.findall(r"^([\w.-]+)(?:\[\S+\])?==", REQUIREMENTS, re.MULTILINE):
        try:
            licences_of_it = licences(name)
        except PackageNotFoundError:
            continue
        looked_at += 1
        under_gpl += [(name, each) for each in licences_of_it if GPL.search(each)]
    assert looked_at >= LEAST
    assert not under_gpl
