"""The packages without which the local Responder cannot start: those that its extra asks for on every platform."""

from __future__ import annotations

import re
from contextlib import suppress
from importlib import metadata

from backend.errors import MissingLibrary
from backend.runtime.extras import how_to_install

_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*;\s*extra == ['"]local['"]""")


def missing_packages() -> list[str]:
    """Return the names of the packages that are not installed here."""
    found = list[str]()
    with suppress(metadata.PackageNotFoundError):  # In a checkout that is not installed, nothing is known of them.
        found = metadata.requires("responder-thinker") or found
    names = [match[1] for match in map(_REQUIREMENT.fullmatch, found) if match]
    return [name for name in names if not any(metadata.distributions(name=name))]


def check_packages() -> None:
    """Raise `MissingLibrary`, which names the packages that are missing, if one is."""
    if missing := missing_packages():
        raise MissingLibrary(
            f"The local Responder needs {' and '.join(missing)}, not installed here.",
            hint=f"{how_to_install('local')}. Where onnxruntime has no wheel (32-bit systems, Alpine), "
            "use a provider: set OPENAI_API_KEY.",
        )


def installed_voice() -> str:
    """Return the voice's name. Raises `MissingLibrary` like `check_packages`."""
    check_packages()
    from hibari.voices import DEFAULT

    return f"Hibari {DEFAULT}"
