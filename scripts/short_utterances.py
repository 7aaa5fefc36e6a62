"""Measures how well short utterances are classified, by microphone and telephone: `python -m scripts.short_utterances`.

Voices of each family of synthesizers speak commands, agreements and beginnings of other sentences. Each is classified
after 420 ms, as a reply that may be interrupted needs it, and as a whole if it is no longer than 1.6 s. Rows of the
table are the true kinds, columns the classified ones, in percent.

`--learn` first learns how a telephone changes the features of speech (`telephone_features.txt` of the extension), from
pieces of other sentences, 280 to 1,000 ms long, each recognised both ways. It finds the matrix that maps the features
and their differences to those by telephone with the least square error. It needs 13 minutes of speech and one of CPU
time.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pocketsphinx import Decoder
from rich.console import Console
from rich.table import Table

from backend.extensions.utterances.worker import (
    FEATURES,
    RECOGNISER_RATE,
    TELEPHONE,
    ReaderModels,
    cleaned,
    levelled,
)
from backend.media import g711
from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, SAMPLE_RATE, Frame
from backend.media.resample import resample
from backend.turns.utterances import UtteranceKind
from benchmarks.turn_sense import texts, voices

KINDS = {"command": texts.COMMANDS, "agreement": texts.BACKCHANNELS, "other": texts.INTERRUPTIONS}
LEVEL_DBFS = -24.0
BEFORE_MS, AFTER_MS = 200, 160
"""The audio that endpointing keeps before an utterance, and the quiet that ends it."""
EARLY_MS, LONGEST_MS = 420, 1_600
PIECES = 3
"""The pieces of each sentence to learn from."""
PIECE_MS = (280, 1_000)

LAG_BYTES = 2 * 100
"""The delay of sound by both of G.711's resamplers: 4.2 ms."""

Features = NDArray[np.float64]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--learn", action="store_true", help="learn the telephone's matrix first, and keep it")
    options = parser.parse_args()
    if options.learn:
        rows = learned(random.Random(options.seed + 1))
        TELEPHONE.write_text("".join(" ".join(f"{each:.4f}" for each in row) + "\n" for row in rows))
    said = [(kind, uttered(text, voice)) for kind, text, voice in _plan(random.Random(options.seed))]
    models = ReaderModels()
    for way, sounds in (("48 kHz", said), ("telephone", [(kind, by_telephone(pcm)) for kind, pcm in said])):
        Console().print(_table(way, sounds, models))


def _plan(chance: random.Random) -> Iterator[tuple[str, str, voices.Voice]]:
    for kind, phrases in KINDS.items():
        for text in phrases:
            for family in voices.families():
                for _ in range(2):
                    yield kind, text, voices.drawn(family, chance)


def uttered(text: str, voice: voices.Voice) -> bytes:
    """Return a sentence as 24 kHz PCM16, with the audio that endpointing keeps around it in a quiet room."""
    sound = np.pad(voices.at_level(voices.say(voice, [text.split()])[0], LEVEL_DBFS), _samples(BEFORE_MS, AFTER_MS))
    room = np.random.default_rng(1).standard_normal(len(sound)) * 8
    whole = np.rint(np.clip(sound * 32767 + room, -32768, 32767)).astype("<i2").tobytes()
    return whole[: len(whole) // FRAME_BYTES * FRAME_BYTES]


def _samples(*durations_ms: int) -> tuple[int, ...]:
    return tuple(SAMPLE_RATE * each // 1000 for each in durations_ms)


def by_telephone(pcm: bytes) -> bytes:
    """Return 24 kHz PCM16 in whole frames as it comes through G.711, without the delay."""
    encoder, decoder = g711.Encoder(g711.Law.MU), g711.Decoder(g711.Law.MU)
    frames = (Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm), FRAME_BYTES))
    return b"".join(decoder.decode(encoder.encode(frame)) for frame in frames)[LAG_BYTES:] + bytes(LAG_BYTES)


def _table(way: str, said: list[tuple[str, bytes]], models: ReaderModels) -> Table:
    table = Table("what it is", "read", "times", *UtteranceKind, title=way)
    for name, end_ms in ((f"at {EARLY_MS} ms", BEFORE_MS + EARLY_MS), ("whole", None)):
        for kind in KINDS:
            sounds = [pcm for each, pcm in said if each == kind]
            if end_ms is None:
                sounds = [pcm for pcm in sounds if len(pcm) <= (LONGEST_MS + BEFORE_MS + AFTER_MS) * BYTES_PER_MS]
            read = Counter(models.read(pcm[: end_ms and end_ms * BYTES_PER_MS]).kind for pcm in sounds)
            shares = [f"{100 * read[each] / len(sounds):.0f}" for each in UtteranceKind]
            table.add_row(kind, name, str(len(sounds)), *shares)
    return table


# --- learning --------------------------------------------------------------------------------------------------------


def learned(chance: random.Random) -> Features:
    """Return the matrix that takes the features of speech to those of the same speech by telephone."""
    others = {*texts.SENTENCES, *texts.QUESTIONS, *texts.SHORT_ANSWERS} - {*sum(KINDS.values(), ())}
    microphone, telephone = [], []
    with tempfile.TemporaryDirectory() as folder:
        extract = _Extractor(Path(folder))
        for text in sorted(others):
            for family in voices.families():
                pcm = uttered(text, voices.drawn(family, chance))
                phoned = by_telephone(pcm)
                for _ in range(PIECES):
                    piece = _piece(len(pcm) // BYTES_PER_MS, chance)
                    microphone.append(extract(pcm[piece]))
                    telephone.append(extract(phoned[piece]))
    matrix, *_ = np.linalg.lstsq(np.concatenate(microphone), np.concatenate(telephone), rcond=None)
    return matrix.T


def _piece(length_ms: int, chance: random.Random) -> slice:
    """Return the place of a random piece of a sound; half of the pieces are its beginning."""
    lasts = min(length_ms, BEFORE_MS + chance.randint(*PIECE_MS))
    begins = chance.choice((0, chance.randint(0, length_ms - lasts)))
    return slice(begins * BYTES_PER_MS, (begins + lasts) * BYTES_PER_MS)


class _Extractor:
    """Extracts pocketsphinx's features: rows of 13 every 10 ms without their mean, and their differences."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        grammar = folder / "any.gram"
        grammar.write_text("#JSGF V1.0;\ngrammar any;\npublic <any> = hello;\n")
        self._decoder = Decoder(samprate=RECOGNISER_RATE, jsgf=str(grammar), mfclogdir=str(folder), loglevel="FATAL")

    def __call__(self, pcm: bytes) -> Features:
        heard = np.frombuffer(resample(pcm, SAMPLE_RATE, RECOGNISER_RATE), "<i2").astype(np.float32)
        self._decoder.start_utt()
        self._decoder.process_raw(levelled(cleaned(heard)), full_utt=True)
        self._decoder.end_utt()
        (log,) = self._folder.glob("*.mfc")
        features = np.frombuffer(log.read_bytes()[4:], ">f4").reshape(-1, FEATURES).astype(np.float64)
        log.unlink()
        features = features - features.mean(axis=0)
        around = np.pad(features, ((3, 3), (0, 0)), "edge")
        first = around[4:] - around[:-4]  # 20 ms before to 20 ms after, for one frame more at both ends
        return np.concatenate((features, first[1:-1], first[2:] - first[:-2]))


if __name__ == "__main__":
    main()
