"""The utterance classifier's child process: requests on standard input, answers on standard output.

Theory. A recogniser that knows only a few phrases finds one of them in any sound. So its language model has two kinds
of utterances: one phrase of `turns/utterances.py` from beginning to end, or a sequence of the commonest English words.
Anything but a phrase then counts as other words, even if these are wrong. Noise is recognised by its lack of voice:
coughs, breaths and knocks have almost none, while words need vowels.

The recogniser was trained in quiet rooms. So the audio is first cleaned by spectral subtraction (the quietest frames
are the room), and brought to one loudness. The training also had voices up to 6.8 kHz, and a telephone ends at 3.4 kHz.
For sound without higher frequencies, the model's means are moved as a telephone moves the features of speech (maximum
likelihood linear regression, Leggetter and Woodland 1995, has that form). `python -m scripts.short_utterances --learn`
learns the matrix. The process ends when its standard input does.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice, product
from math import log10
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from pocketsphinx import Decoder, NGramModel, get_model_path

from backend.call.utterance_tap import Reading
from backend.extensions.utterances.classifier import ANSWER, READ, REQUEST
from backend.extensions.utterances.laughter import is_laughter
from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample
from backend.turns.languages import ENGLISH
from backend.turns.utterances import UtteranceKind, kind_of, phrases

RECOGNISER_RATE = 16_000
PHRASE_SHARE = 0.995
"""The prior probability that an utterance is a phrase rather than other words."""
RARE = 0.05
"""The probability of a phrase, relative to one of `_FREQUENT`."""
OTHER_WORDS = 2000
"""The number of `COMMON_WORDS` that stand for other words."""
COMMON_WORDS = Path(__file__).with_name("common_words.txt")
"""English words, the commonest first, by the language model that pocketsphinx ships."""
ANOTHER_WORD = 0.5
"""The probability that another word follows each of the other words."""
PHRASE_GOES_ON = 1e-5
"""The probability that other words follow a phrase. It is small, since the recogniser tends to add short words."""
LANGUAGE_WEIGHT = 9.0
TELEPHONE = Path(__file__).with_name("telephone_features.txt")
"""The effect of a telephone on the 13 cepstral features of speech, as a matrix, and on their differences."""
FEATURES = 13
NARROWBAND_HZ, NARROWBAND_SHARE = 4_300, 10**-5.3
"""A sound with less than this share of its power above this frequency came by telephone. In 312 utterances without
noise the share was at least 10**-5.1 at 48 kHz, and at most 10**-5.5 by telephone."""
VOICED_MS = 100
"""An utterance with fewer milliseconds of voice has no words, unless it is a whispered command."""
LOG10_OF_MODEL = log10(1.0001)
"""The shipped model's logarithms have the base 1.0001."""

_FREQUENT = frozenset(ENGLISH.phrases("short_utterances", "frequent"))
_COMBINED = ENGLISH.phrases("short_utterances", "combined")
"""Phrases that are often said together. The table knows each, but the recogniser needs the combination."""
_PRONUNCIATIONS = ENGLISH.phrases_by("short_utterances", "pronunciations")
"""Pronunciations that the shipped dictionary lacks."""
_PRONUNCIATIONS_OF_A_PHRASE = 4
_BEGUN = frozenset(ENGLISH.phrases("short_utterances", "begun"))
"""Agreements that are also recognised by the first word and one or two sounds of the second. Speech over a reply is
classified before it ends, and half of "makes sense" counted as other words. Other phrases begin like sentences."""
_SOUNDS_BEGUN = (1, 2)

Samples = NDArray[np.float32]
Pronunciations = dict[str, list[str]]
Recogniser = Callable[[bytes], str | None]


def main() -> None:
    """Load, then answer requests until the end of input."""
    _give_way()
    requests = sys.stdin.buffer
    # Output of the library must not get between our answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    models = ReaderModels()
    while len(header := requests.read(REQUEST.size)) == REQUEST.size:
        what, length = REQUEST.unpack(header)
        answer = msgspec.json.encode(models.answer(what, requests.read(length)))
        answers.write(ANSWER.pack(len(answer)) + answer)
        answers.flush()


def _give_way() -> None:
    """Run only while a core is idle: a classification takes 30 ms, and audio packets must not wait for it.

    With 40 calls on the same core, 0.6 % of the packets were more than 20 ms late without this, and 0.06 % with it.
    """
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


class ReaderModels:
    """The loaded models. Loading takes 0.3 s of CPU time, and 100 MB with the interpreter."""

    def __init__(self) -> None:
        self._model = NGramModel.readfile(get_model_path("en-us/en-us.lm.bin"))
        self._recognise, self._recognise_by_telephone = _recognisers(self._model)

    def answer(self, what: int, payload: bytes) -> Reading | float | None:
        """Return the answer to a request of the kind `what`."""
        return self.read(payload) if what == READ else self.sentence_end(payload.decode())

    def read(self, pcm: bytes) -> Reading:
        """Classify an utterance of 24 kHz mono PCM16."""
        heard = np.frombuffer(resample(pcm, SAMPLE_RATE, RECOGNISER_RATE), "<i2").astype(np.float32)
        if len(heard) < SHORTEST:
            return Reading(UtteranceKind.NOISE)
        recognise = self._recognise_by_telephone if is_narrowband(heard) else self._recognise
        sound = cleaned(heard)
        words = recognise(levelled(sound))
        kind = UtteranceKind.OTHER if words is None else kind_of(words)
        if voiced_ms(heard) < VOICED_MS and kind is not UtteranceKind.COMMAND:
            return Reading(UtteranceKind.NOISE)
        if is_laughter(sound) and not _is_repeated(words or ""):
            return Reading(UtteranceKind.NOISE)
        return Reading(kind, words or "")

    def sentence_end(self, words: str) -> float | None:
        """Return the log10 of the probability that a sentence ends after `words`."""
        spoken = [word.strip(".,;:!?\"'()") for word in words.lower().split()]
        last = [word for word in spoken if word][-2:]
        return float(self._model.prob(["</s>", *reversed(last)])) * LOG10_OF_MODEL if last else None


# --- recognition ---------------------------------------------------------------------------------------------------


def _recognisers(model: NGramModel) -> tuple[Recogniser, Recogniser]:
    """Return two recognisers, the second for telephone sound. Each gives a phrase, '' for no words, None for others."""
    listed = [*_COMBINED, *(phrase for kind in UtteranceKind for phrase in phrases(kind))]
    common = COMMON_WORDS.read_text().split()[:OTHER_WORDS]
    known = _pronunciations({word for phrase in (*listed, *common) for word in phrase.split()})
    said = {phrase.replace(" ", "_"): phrase for phrase in listed if all(word in known for word in phrase.split())}
    frequent = {sounds for phrase in _FREQUENT if phrase in known for sounds in known[phrase]}
    others = [word for word in common if word in known and word not in said]
    others = [word for word in others if not any(_sound_alike(sounds, frequent) for sounds in known[word])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "phrases.dict").write_text("".join(_dictionary(said, others, known)))
        (folder / "phrases.lm").write_text(_language_model(said, others, model))
        (folder / "telephone.mllr").write_text(_transform(TELEPHONE.read_text()))
        return _recogniser(folder, said), _recogniser(folder, said, mllr=str(folder / "telephone.mllr"))


def _recogniser(folder: Path, said: dict[str, str], **options: str) -> Recogniser:
    """Load a recogniser; `said` maps the words of the language model to phrases."""
    decoder = Decoder(
        samprate=RECOGNISER_RATE,
        lm=str(folder / "phrases.lm"),
        dict=str(folder / "phrases.dict"),
        lw=LANGUAGE_WEIGHT,
        topn=2,
        fwdflat=False,
        bestpath=False,
        loglevel="FATAL",
        **options,
    )

    def recognise(pcm: bytes) -> str | None:
        decoder.start_utt()
        decoder.process_raw(pcm, full_utt=True)
        decoder.end_utt()
        best = decoder.hyp()
        words = best.hypstr.split() if best else []
        return " ".join(said[word] for word in words) if all(word in said for word in words) else None

    return recognise


def _transform(matrix: str) -> str:
    """Return a matrix in pocketsphinx's format of transforms: one class, three streams, no offset, same variance."""
    stream = [str(FEATURES), matrix.strip(), " ".join("0" * FEATURES), " ".join("1" * FEATURES)]
    return "\n".join(["1", "3", *stream * 3, ""])


def _is_repeated(words: str) -> bool:
    """Return whether a text is one word several times: "no no no" has the rhythm of laughter."""
    said = words.split()
    return len(said) > 1 and len(set(said)) == 1


def _pronunciations(wanted: Collection[str]) -> Pronunciations:
    known: Pronunciations = {}
    with Path(get_model_path("en-us/cmudict-en-us.dict")).open() as lines:
        for line in lines:
            name, _, sounds = line.partition(" ")
            if (word := name.partition("(")[0]) in wanted:
                known.setdefault(word, []).append(sounds.strip())
    for word, more in _PRONUNCIATIONS.items():
        known[word] = list(dict.fromkeys([*known.get(word, []), *more]))
    return known


def _sound_alike(sounds: str, frequent: Collection[str]) -> bool:
    """Return whether a word differs from a frequent one in only one sound, so that they would often be confused.

    As a single word, "really" is far more common than "clearly".
    """
    word = sounds.split()
    return any(_differs_by_one(word, other.split()) for other in frequent)


def _differs_by_one(one: list[str], other: list[str]) -> bool:
    if len(one) < 3 or abs(len(one) - len(other)) > 1:
        return one == other
    if len(one) == len(other):
        return sum(each != another for each, another in zip(one, other, strict=True)) <= 1
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def _dictionary(said: dict[str, str], others: Iterable[str], known: Pronunciations) -> Iterator[str]:
    for name, phrase in said.items():
        each = product(*(known[word] for word in phrase.split()))
        most = 2 + _PRONUNCIATIONS_OF_A_PHRASE if name == phrase else _PRONUNCIATIONS_OF_A_PHRASE
        sounds = [" ".join(said_so) for said_so in islice(each, most)]
        yield from _entries(name, [*sounds, *(_begun(phrase, known) if phrase in _BEGUN else ())])
    for word in others:
        yield from _entries(word, known[word])


def _begun(phrase: str, known: Pronunciations) -> list[str]:
    """Return pronunciations of a phrase that is cut in the beginning of its second word."""
    first, second, *more = (known[word] for word in phrase.split())
    beginnings = {
        f"{before} {' '.join(sounds[:length])}"
        for before, after in product(first[:2], second[:2])
        for length in _SOUNDS_BEGUN
        if length < len(sounds := after.split()) or more
    }
    return sorted(beginnings)


def _entries(name: str, pronunciations: Iterable[str]) -> Iterator[str]:
    for count, sounds in enumerate(pronunciations, 1):
        yield f"{name}{f'({count})' if count > 1 else ''} {sounds}\n"


def _language_model(said: dict[str, str], others: list[str], model: NGramModel) -> str:
    """Return a bigram model in the ARPA format: a phrase from beginning to end, or a sequence of other words."""
    weights = {name: 1.0 if phrase in _FREQUENT else RARE for name, phrase in said.items()}
    total = sum(weights.values())
    chances = {word: 10 ** (model.prob([word]) * LOG10_OF_MODEL) for word in others}
    every = sum(chances.values())
    unigrams = [f"-99 <s> {log10(1 - PHRASE_SHARE):.4f}", f"{log10(1 - ANOTHER_WORD):.4f} </s>"]
    unigrams += [f"{log10(ANOTHER_WORD * chance / every):.4f} {word} 0" for word, chance in chances.items()]
    unigrams += [f"-12 {name} {log10(PHRASE_GOES_ON):.4f}" for name in said]
    bigrams = [f"{log10(PHRASE_SHARE * weight / total):.4f} <s> {name}" for name, weight in weights.items()]
    bigrams += [f"-0.0001 {name} </s>" for name in said]
    head = ["\\data\\", f"ngram 1={len(unigrams)}", f"ngram 2={len(bigrams)}", ""]
    return "\n".join([*head, "\\1-grams:", *unigrams, "", "\\2-grams:", *bigrams, "", "\\end\\", ""])


# --- sound -----------------------------------------------------------------------------------------------------------

_WINDOW, _HOP = 512, 128
SHORTEST = 2 * _WINDOW
"""The shortest utterance that is recognised, in samples."""
_HANN = np.hanning(_WINDOW + 1)[:_WINDOW].astype(np.float32)
_ROOM_SHARE = 0.15
"""The share of the frames, the quietest ones, that counts as the room."""
_ROOM_TIMES = 2.5
"""The factor by which the room's mean power is subtracted; its peaks are above the mean."""
_LEAST_GAIN = 0.05
_LOUDNESS = 3277.0
"""The RMS of the louder half of the recogniser's input: -20 dBFS."""
_DITHER = np.random.default_rng(0).standard_normal(3 * RECOGNISER_RATE).astype(np.float32) * 30
"""Noise some 40 dB below the voice: in a deeper silence than its training had, the recogniser finds words."""


def cleaned(sound: Samples) -> Samples:
    """Return the sound without the room's noise, by spectral subtraction (Boll 1979) of the quietest frames' mean."""
    padded = np.concatenate((np.zeros(_WINDOW, np.float32), sound, np.zeros(2 * _WINDOW, np.float32)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP] * _HANN
    spectra = np.fft.rfft(frames)
    power = spectra.real**2 + spectra.imag**2
    whole = power[_WINDOW // _HOP : len(sound) // _HOP]
    quietest = np.argsort(whole.sum(axis=1))[: max(4, int(_ROOM_SHARE * len(whole)))]
    room = np.convolve(np.pad(whole[quietest].mean(axis=0), 2, "edge"), np.ones(5) / 5, "valid")
    gain = np.sqrt(np.maximum(1 - _ROOM_TIMES * room / (power + 1e-3), _LEAST_GAIN**2))
    gain[1:-1] = (gain[:-2] + 2 * gain[1:-1] + gain[2:]) / 4  # smoothed over time, against musical noise
    back = np.fft.irfft(spectra * gain).astype(np.float32) * _HANN
    out = np.zeros(len(padded), np.float32)
    for number, frame in enumerate(back):
        out[number * _HOP : number * _HOP + _WINDOW] += frame
    return out[_WINDOW : _WINDOW + len(sound)] / np.float32((_HANN**2).sum() / _HOP)


def is_narrowband(sound: Samples) -> bool:
    """Return whether 16 kHz sound has only the frequencies of a telephone."""
    spectrum = np.fft.rfft(sound * np.hanning(len(sound)))
    power = spectrum.real**2 + spectrum.imag**2
    above = power[NARROWBAND_HZ * len(sound) // RECOGNISER_RATE :].sum()
    return bool(above < NARROWBAND_SHARE * power.sum())


def levelled(sound: Samples) -> bytes:
    """Return the sound as PCM16 at the recogniser's loudness, with a little noise."""
    loud = np.sort(sound**2)[-len(sound) // 2 :]
    gain = min(_LOUDNESS / (float(np.sqrt(loud.mean())) + 1e-3), 32000 / (float(np.abs(sound).max()) + 1))
    dithered = sound * np.float32(gain) + _DITHER[: len(sound)]
    return bytes(np.rint(dithered).astype("<i2").tobytes())


def voiced_ms(sound: Samples) -> int:
    """Return the milliseconds with a pitch of 65 to 400 Hz, by the autocorrelation of 40 ms every 10 ms."""
    low = sound[: len(sound) // 4 * 4].reshape(-1, 4).mean(axis=1)  # 4 kHz
    low = low - low.mean()
    window = np.hanning(160).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(low, 160)[::40] * window
    likeness = np.fft.irfft(np.abs(np.fft.rfft(frames, 512)) ** 2)[:, :160]
    taper = np.fft.irfft(np.abs(np.fft.rfft(window, 512)) ** 2)[:160]
    energy = likeness[:, 0]
    best = (likeness / (taper / taper[0]))[:, 10:62].max(axis=1) / (energy + 1e-6)
    return int(np.count_nonzero((best > 0.6) & (energy > energy.max() * 10**-2.5))) * 10


if __name__ == "__main__":
    main()
