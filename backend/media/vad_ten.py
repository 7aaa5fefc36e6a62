"""TEN VAD: a small native detector, called through its C interface.

The `ten-vad` package carries the library for x86-64 Linux and Windows and for macOS; its own Python wrapper
raises from its destructor where the library cannot load, and costs more than the call, so we bind the four
functions ourselves. On Linux the library needs libc++. Its licence is Apache 2.0 with added terms: see the
README.
"""

from __future__ import annotations

import ctypes
import importlib.util
import platform
from functools import cache
from pathlib import Path

from backend.errors import MissingLibrary
from backend.media.vad import Engine, EngineName

_SAMPLES_PER_MS = 16
_LIBRARIES = {
    ("Linux", "x86_64"): "lib/Linux/x64/libten_vad.so",
    ("Darwin", "x86_64"): "lib/macOS/ten_vad.framework/Versions/A/ten_vad",
    ("Darwin", "arm64"): "lib/macOS/ten_vad.framework/Versions/A/ten_vad",
    ("Windows", "AMD64"): "lib/Windows/x64/ten_vad.dll",
}
"""The library's path in the package, by system and machine."""


class TenEngine(Engine):
    """One caller's state. Raises `MissingLibrary` where the library is not, or cannot be loaded."""

    name: EngineName = "ten"
    rate = 1000 * _SAMPLES_PER_MS
    context_bytes = 0

    def __init__(self, hop_ms: int) -> None:
        """Take hops of 10 to 100 ms; longer ones cost less and notice later."""
        self._handle = ctypes.c_void_p()
        self._hop_samples = hop_ms * _SAMPLES_PER_MS
        self.hop_bytes = 2 * self._hop_samples
        self._probability = ctypes.c_float()
        self._flag = ctypes.c_int32()
        self._library = load_ten()
        # The library's own threshold only sets its flag, which we do not use.
        if self._library.ten_vad_create(ctypes.byref(self._handle), self._hop_samples, 0.5) != 0:
            raise MissingLibrary("TEN VAD could not be initialised.", hint="Set VAD__ENGINE=silero.")

    def __del__(self) -> None:
        self.close()

    def score_hop(self, pcm: bytes) -> float:
        if not self._handle:
            return 0.0
        self._library.ten_vad_process(
            self._handle, pcm, self._hop_samples, ctypes.byref(self._probability), ctypes.byref(self._flag)
        )
        return max(0.0, self._probability.value)  # it says -1 until it has heard enough

    def peek(self, pcm: bytes) -> float:
        """Return 0: its memory cannot be put back, so it does not look ahead."""
        return 0.0

    def close(self) -> None:
        if self._handle:
            self._library.ten_vad_destroy(ctypes.byref(self._handle))
            self._handle = ctypes.c_void_p()


@cache
def load_ten() -> ctypes.PyDLL:
    """Return the library, loaded once. Raises `MissingLibrary`."""
    system, machine = platform.system(), platform.machine()
    package = importlib.util.find_spec("ten_vad")
    inside = _LIBRARIES.get((system, machine))
    if package is None or package.origin is None or inside is None:
        raise MissingLibrary(f"TEN VAD has no build for {system} {machine} here.", hint="Set VAD__ENGINE=silero.")
    try:
        library = ctypes.PyDLL(str(Path(package.origin).parent / inside))
    except OSError as error:
        raise MissingLibrary(
            f"TEN VAD's library does not load: {error}.",
            hint="On Debian and Ubuntu: `apt install libc++1`. Or set VAD__ENGINE=silero.",
        ) from error
    handle, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float
    library.ten_vad_create.argtypes = [ctypes.POINTER(handle), size, number]
    library.ten_vad_process.argtypes = [handle, ctypes.c_char_p, size, ctypes.c_void_p, ctypes.c_void_p]
    library.ten_vad_destroy.argtypes = [ctypes.POINTER(handle)]
    return library
