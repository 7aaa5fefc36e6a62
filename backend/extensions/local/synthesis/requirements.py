"""The needs of the local voice are looked for on the machine before anything is loaded."""

from __future__ import annotations

from importlib.util import find_spec

from backend.errors import MissingLibrary

NEEDED = {"onnxruntime": "onnxruntime", "hibari": "hibari-tts"}
"""Modules, and the packages they come in. hibari-tts is pure Python; onnxruntime is built for 64-bit Linux with glibc
(x86-64, arm64), for macOS on arm64 and for Windows, and for nothing else."""


def installed_voice() -> str:
    """Return the voice's name. Raises `MissingLibrary` where it cannot be loaded, naming what to install."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise MissingLibrary(
            f"The local voice needs {' and '.join(missing)}, not installed here.",
            hint=f"pip install {' '.join(missing)}. Where onnxruntime has no wheel (32-bit systems, Alpine), "
            "use a provider: set OPENAI_API_KEY.",
        )
    from hibari.voices import DEFAULT

    return f"Hibari {DEFAULT}"
