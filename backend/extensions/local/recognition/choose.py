"""The choice of the recognizer that this machine can run, and of the number of calls."""

import logging
import os
from importlib.util import find_spec

from backend.errors import MissingLibrary
from backend.extensions.local.recognition import moonshine_files
from backend.extensions.local.recognition.pooled import PooledRecognizer
from backend.extensions.local.speech_pool import PoolLimits, SpeechPool

log = logging.getLogger(__name__)

MOONSHINE, SPHINX = "Moonshine base", "pocketsphinx (basic)"
CORES_A_PROCESS = 4
"""The number of cores from which a second process is worth its memory."""
MOST_PROCESSES = 4
CALLS_A_CORE = 1.0
"""The number of local calls that a core can carry: see "Without a provider" in benchmarks/NOTES.md."""


def open_recognizer() -> tuple[PooledRecognizer, SpeechPool]:
    """Return the best recognizer that is installed, and its pool, which the caller starts and closes.

    Raises `MissingLibrary` if there is none.
    """
    name, engine = _engine()
    pool = SpeechPool("speech recognition", engine, limits(cores()))
    return PooledRecognizer(name, pool), pool


def limits(cores: int) -> PoolLimits:
    """Return the processes and threads of recognition for a number of cores.

    On two cores, one thread decodes, and the other core is free for all other work.
    """
    processes = max(1, min(MOST_PROCESSES, cores // CORES_A_PROCESS))
    return PoolLimits(workers=processes, threads=1 if cores <= 2 else 2)


def usual_calls(cores: int) -> int:
    """Return the number of parallel local calls for a number of cores: the default of LOCAL_CALLS."""
    return max(1, round(cores * CALLS_A_CORE))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _engine() -> tuple[str, str]:
    try:
        moonshine_files.find()
        if find_spec("onnxruntime") is None:
            raise MissingLibrary("The package onnxruntime is not installed.")
    except MissingLibrary as error:
        why = str(error)
    else:
        return MOONSHINE, "backend.extensions.local.recognition.moonshine"
    if find_spec("pocketsphinx") is None:
        raise MissingLibrary(f"There is no speech recognition: {why} Nor is pocketsphinx.", hint="make install")
    log.warning("speech is recognized by pocketsphinx, with far more errors than usual: %s", why)
    return SPHINX, "backend.extensions.local.recognition.sphinx"
