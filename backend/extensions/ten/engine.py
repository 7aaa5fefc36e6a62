"""TEN VAD, a small neural network for speech detection, called through its C interface.

The package's Python wrapper costs more than the call, and raises from its destructor if the library does not load. The
library is for Linux on x86-64, and needs libc++. The licence is Apache 2.0 with added terms: see the README.
"""

import ctypes
import importlib.util
from functools import cache
from pathlib import Path
from typing import ClassVar
from weakref import finalize

from backend.errors import MissingLibrary
from backend.media.frame import BYTES_PER_MS, SAMPLE_RATE
from backend.media.resample import Resampler

HOP_MS = 32
RATE = 16_000
LIBRARY = "lib/Linux/x64/libten_vad.so"
"""The library's path in the package."""


class TenEngine:
    """The detector of one caller. Raises `MissingLibrary` if the library cannot be loaded."""

    name: ClassVar[str] = "ten"
    onset: ClassVar[float] = 1.0  # coughs and knocks score as high as the beginnings of words
    hop_bytes = HOP_MS * BYTES_PER_MS
    context_bytes = 0

    def __init__(self) -> None:
        self._library = load_ten()
        self._handle = ctypes.c_void_p()
        self._probability, self._flag = ctypes.c_float(), ctypes.c_int32()
        self._resampler = Resampler(SAMPLE_RATE, RATE, steady=True)
        handle = ctypes.byref(self._handle)
        if self._library.ten_vad_create(handle, HOP_MS * RATE // 1000, 0.5):  # the threshold of its flag
            raise MissingLibrary("TEN VAD could not be initialised.")
        finalize(self, self._library.ten_vad_destroy, handle)

    def score_hop(self, pcm: bytes) -> float:
        """Return the probability of speech in the next hop."""
        pcm = self._resampler.push(pcm)
        outcome = ctypes.byref(self._probability), ctypes.byref(self._flag)
        self._library.ten_vad_process(self._handle, pcm, len(pcm) // 2, *outcome)
        return max(0.0, self._probability.value)  # it returns -1 until it has heard enough

    def peek(self, pcm: bytes) -> float:
        """Return 0: the network's state cannot be restored, so it does not look ahead."""
        return 0.0


@cache
def load_ten() -> ctypes.PyDLL:
    """Return the library, loaded once. Raises `MissingLibrary`."""
    package = importlib.util.find_spec("ten_vad")
    if package is None or package.origin is None:
        raise MissingLibrary("The package ten-vad is missing.", hint="Install the extra `ten`.")
    try:
        library = ctypes.PyDLL(str(Path(package.origin).parent / LIBRARY))
    except OSError as error:
        raise MissingLibrary(
            f"TEN VAD's library does not load: {error}.", hint="On Debian and Ubuntu: `apt install libc++1`."
        ) from error
    handle, size = ctypes.c_void_p, ctypes.c_size_t
    library.ten_vad_create.argtypes = [ctypes.POINTER(handle), size, ctypes.c_float]
    library.ten_vad_process.argtypes = [handle, ctypes.c_char_p, size, ctypes.c_void_p, ctypes.c_void_p]
    library.ten_vad_destroy.argtypes = [ctypes.POINTER(handle)]
    return library
