"""A caller's voice: Debian's flite where it is installed, else the local Responder's own."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from backend.errors import SetupError
from backend.media.sound_file import read_audio
from backend.runtime.child_process import running

WITHIN_S = 20.0


def voice_name() -> str:
    """The owner of the voice."""
    return "flite" if shutil.which("flite") else "Hibari"


async def spoken(words: str) -> bytes:
    """The words as 24 kHz mono PCM16. Raises `SetupError`."""
    if voice_name() == "flite":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "spoken.wav"
            await _output_of("flite", "-voice", "slt", "-t", words, "-o", str(path))
            return read_audio(path)
    return await _output_of(*running("backend.extensions.local.synthesis"), words)


async def _output_of(*command: str) -> bytes:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(WITHIN_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise SetupError(f"{command[0]} does not speak.", hint="Does it work by itself?") from None
    if process.returncode:
        raise SetupError(f"{command[0]} failed with status {process.returncode}.", hint="Does it work by itself?")
    return output
