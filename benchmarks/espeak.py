"""espeak-ng as a caller's voice: words in, 24 kHz mono PCM16 out, in this very process (2 ms for ten words)."""

from __future__ import annotations

import ctypes
import threading
from functools import cache

import espeakng_loader

from backend.errors import MissingLibrary
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample

# From espeak-ng's speak_lib.h
_SYNCHRONOUS = 2
_CHARS_UTF8 = 1
_POSITION_CHARACTER = 1
_RATE, _PITCH, _RANGE, _GAP = 1, 3, 4, 7
_OK = 0

VOICE = b"en-us+f2"
WORDS_PER_MINUTE = 155
PITCH = 48
"""0 to 100."""
PITCH_RANGE = 60
"""0 (monotone) to 100."""
LONGEST_TEXT = 2000
"""Characters spoken in one piece; callers speak sentence by sentence."""

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Espeak:
    """The synthesiser.

    Its state belongs to the process, so one thread at a time uses it, under a lock. Get it from `espeak`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: list[bytes] = []
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = str(espeakng_loader.get_data_path()).encode()
        self._rate = int(self._library.espeak_Initialize(_SYNCHRONOUS, 0, data, 0))
        if self._rate <= 0:
            raise MissingLibrary("espeak-ng could not be started.", hint="Reinstall the package espeakng-loader.")
        # Kept on self: the library holds the pointer for as long as it lives.
        self._callback = _Callback(self._on_audio)
        self._library.espeak_SetSynthCallback(self._callback)
        self.change(VOICE, WORDS_PER_MINUTE, PITCH)

    def change(self, voice: bytes, words_per_minute: int, pitch: int) -> None:
        """Speak with another voice from now on, by espeak-ng's name for it; `pitch` is 0 to 100."""
        with self._lock:
            self._library.espeak_SetVoiceByName(voice)
            for parameter, value in ((_RATE, words_per_minute), (_PITCH, pitch), (_RANGE, PITCH_RANGE), (_GAP, 1)):
                self._library.espeak_SetParameter(parameter, value, 0)

    def speak(self, text: str) -> bytes:
        """The words as 24 kHz mono PCM16. Blocks for some milliseconds; safe from any thread."""
        with self._lock:
            self._pieces.clear()
            encoded = text[:LONGEST_TEXT].encode() + b"\0"
            self._library.espeak_Synth(
                *(encoded, ctypes.c_size_t(len(encoded)), 0, _POSITION_CHARACTER, 0, _CHARS_UTF8, None, None)
            )
            pcm = b"".join(self._pieces)
        return resample(pcm, self._rate, SAMPLE_RATE)

    def _on_audio(self, samples: ctypes._Pointer[ctypes.c_short], count: int, _events: int) -> int:
        if samples and count > 0:
            self._pieces.append(ctypes.string_at(samples, count * 2))
        return _OK


@cache
def espeak() -> Espeak:
    """The process's one synthesiser, started on first use. Raises `MissingLibrary`."""
    return Espeak()
