"""The recogniser in a process of its own, because pocketsphinx holds the interpreter lock while it works.

Standard input carries requests, standard output answers, each as: id (4 bytes), length (4 bytes, both big-endian),
payload. A request's payload is 24 kHz mono PCM16; an answer's is the words in UTF-8, empty when nothing was
understood. The process ends when its standard input does.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pocketsphinx import Decoder, get_model_path

from backend.media.frame import BYTES_PER_MS, SAMPLE_RATE
from backend.media.resample import resample
from local_responder.dialogue.phrases import sentences
from local_responder.recognition.language_model import arpa

HEADER = struct.Struct(">II")
LONGEST_MS = 20_000
"""Only the last so many milliseconds of an utterance are listened to, so that an answer never takes long."""
RECOGNISER_RATE = 16_000
PADDING = bytes(RECOGNISER_RATE * 2 // 10)
"""A tenth of a second of silence on either side: the recogniser wants a moment before the first word."""


def main() -> None:
    """Load, then answer requests until the end of input."""
    requests = sys.stdin.buffer
    # Whatever the library prints must not get between our answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    recognise = load()
    while (request := _read(requests)) is not None:
        number, pcm = request
        words = recognise(pcm).encode()
        answers.write(HEADER.pack(number, len(words)) + words)
        answers.flush()


def load() -> Callable[[bytes], str]:
    """The recogniser: 24 kHz mono PCM16 in, lower-case words out."""
    with tempfile.TemporaryDirectory() as folder:
        model, dictionary = Path(folder) / "sentences.lm", Path(folder) / "words.dict"
        expected = list(sentences())
        model.write_text(arpa(expected))
        dictionary.write_text(_dictionary({word for sentence, _ in expected for word in sentence.split()}))
        decoder = Decoder(
            samprate=RECOGNISER_RATE, lm=str(model), dict=str(dictionary), lw=8.0, bestpath=False, loglevel="FATAL"
        )
    return lambda pcm: _recognise(decoder, pcm)


def _recognise(decoder: Decoder, pcm: bytes) -> str:
    heard = resample(pcm[-LONGEST_MS * BYTES_PER_MS :], SAMPLE_RATE, RECOGNISER_RATE)
    decoder.start_utt()
    decoder.process_raw(PADDING + heard + PADDING, full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return str(best.hypstr) if best else ""


def _dictionary(words: set[str]) -> str:
    """The pronunciations of `words` only: a hundredth of the whole dictionary, and so much quicker to load."""
    known = Path(get_model_path("en-us/cmudict-en-us.dict")).read_text()
    return "".join(line + "\n" for line in known.splitlines() if line.split(" ", 1)[0].partition("(")[0] in words)


def _read(requests: IO[bytes]) -> tuple[int, bytes] | None:
    header = requests.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    number, length = HEADER.unpack(header)
    payload = requests.read(length)
    return (number, payload) if len(payload) == length else None


if __name__ == "__main__":
    main()
