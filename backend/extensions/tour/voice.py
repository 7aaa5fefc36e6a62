"""A caller's voice: the local Responder's own, from a process that ends with the sentence."""

from __future__ import annotations

import asyncio

from backend.errors import SetupError
from backend.runtime.child_process import running

VOICE = "backend.extensions.local.synthesis"
WITHIN_S = 20.0


async def spoken(words: str) -> bytes:
    """Return the words as 24 kHz mono PCM16. Raises `SetupError`."""
    process = await asyncio.create_subprocess_exec(*running(VOICE), words, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(WITHIN_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise SetupError("The local voice does not speak.", hint=f"Does `python -m {VOICE} Hello` work?") from None
    if process.returncode:
        raise SetupError(f"The local voice failed with status {process.returncode}.", hint="Run `make install`.")
    return output
