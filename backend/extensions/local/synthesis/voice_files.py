"""The voice files: the one inside the hibari package, and those in a folder that the operator names.

Every voice of hibari is one complete model in the ONNX format. Nothing is ever fetched: a voice that is neither in the
package nor in the folder does not exist.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hibari.voices import ASSETS, DEFAULT, VOICES

from backend.errors import SetupError

_BRITISH = re.compile(r"b[fm]_")
"""How Kokoro, hibari's teacher, begins the names of its British voices."""


@dataclass(frozen=True, slots=True)
class VoiceFile:
    """A voice that can be loaded."""

    name: str
    path: Path
    british: bool
    """Whether words are pronounced as in Britain."""


def voices_in(folder: Path | None) -> dict[str, VoiceFile]:
    """All voices by name: the packaged one, and the folder's `.onnx` files by hibari's names for them or their own."""
    found = {DEFAULT: VoiceFile(DEFAULT, Path(ASSETS) / VOICES[DEFAULT]["file"], british=False)}
    for path in sorted(folder.glob("*.onnx")) if folder else []:
        known = next((name for name, voice in VOICES.items() if voice["file"] == path.name), None)
        name = known or path.stem
        british = bool(VOICES[name]["british"]) if name in VOICES else bool(_BRITISH.match(name))
        if path.is_file() and name != DEFAULT:
            found[name] = VoiceFile(name, path, british)
    return found


def chosen_file() -> VoiceFile:
    """The voice that the environment names. Raises `SetupError`."""
    folder = os.environ.get("LOCAL_VOICES_FOLDER", "")
    return voice_file(os.environ.get("LOCAL_VOICE", ""), Path(folder) if folder else None)


def voice_file(name: str, folder: Path | None) -> VoiceFile:
    """The voice of that name; '' is the packaged one. Raises `SetupError`."""
    if folder and not folder.is_dir():
        raise SetupError(
            f"The folder of voices {folder} does not exist.", hint="Create it, or leave LOCAL_VOICES_FOLDER empty."
        )
    found = voices_in(folder)
    try:
        return found[name or DEFAULT]
    except KeyError:
        raise SetupError(
            f"There is no voice {name!r}; there are: {', '.join(found)}.",
            hint="Set LOCAL_VOICE to one of these, or put the voice's .onnx file into LOCAL_VOICES_FOLDER.",
        ) from None
