"""The packages that the local voice needs; they are looked for before anything is loaded."""

from __future__ import annotations

from importlib.util import find_spec

from backend.errors import MissingLibrary

NEEDED = {"onnxruntime": "onnxruntime", "hibari": "hibari-tts"}
"""Modules → the packages that contain them. hibari-tts is pure Python; onnxruntime is built only for 64-bit Linux with
glibc (x86-64, arm64), for macOS on arm64 and for Windows."""


def installed_voice() -> str:
    """Return the voice's name. Raises `MissingLibrary`, which names the packages to install, if one is missing."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise MissingLibrary(
            f"The local voice needs {' and '.join(missing)}, not installed here.",
            hint=f"pip install {' '.join(missing)}. Where onnxruntime has no wheel (32-bit systems, Alpine), "
            "use a provider: set OPENAI_API_KEY.",
        )
    from hibari.voices import DEFAULT

    return f"Hibari {DEFAULT}"
