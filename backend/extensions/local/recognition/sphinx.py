"""The pocketsphinx engine of a recognition process, for English on machines without a Moonshine package.

It uses the general language model in pocketsphinx's own wheel. It is far less accurate (benchmarks/NOTES.md), and
writes neither capitals nor punctuation.
"""

from collections.abc import Callable, Iterator

from pocketsphinx import Decoder

from backend.extensions.local.recognition.jobs import RecognizedWords, decode_hearing, encode
from backend.extensions.local.recognition.voiced import voiced_part
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample

RATE = 16_000
MARGIN = bytes(RATE * 2 // 10)
"""The silence on both sides, a tenth of a second: the recognizer needs a moment before the first word."""


def load() -> Callable[[bytes], Iterator[bytes]]:
    """Return the engine for `speech_worker`; loading takes about a second."""
    # A narrower search than the package's own: half the time for one more wrong word in a hundred.
    decoder = Decoder(samprate=RATE, maxhmmpf=3000, ds=2, topn=2, fwdflat=False, loglevel="FATAL")
    return lambda payload: recognise(decoder, payload)


def recognise(decoder: Decoder, payload: bytes) -> Iterator[bytes]:
    """Yield b"" after the gate, and the encoded `RecognizedWords` at the end."""
    pcm = voiced_part(decode_hearing(payload).pcm)
    if not pcm:
        yield encode(RecognizedWords())
        return
    yield b""
    decoder.start_utt()
    decoder.process_raw(MARGIN + resample(pcm, SAMPLE_RATE, RATE) + MARGIN, full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    yield encode(RecognizedWords(str(best.hypstr) if best else ""))
