"""The Moonshine base model for English: 16 kHz samples in, tokens out. Pure computation, for a process of its own.

An encoder turns samples into one vector for each 24 ms; a decoder gives one token after another, attending to these
vectors and to the tokens before. Source: Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and
Voice Commands" (2024). The files are those of the package moonshine-cpp, which is never imported: it would load
libraries of its own.

**Weights.** They are 8-bit integers, and the files' graphs turn all of them into floats before each token, which takes
most of the time and memory. Here onnxruntime does it once, and writes the floats into a file that is memory-mapped.

**Drafts.** A decoder step costs the same for one token as for twenty, since it is bounded by reading the weights. So
the tokens of an earlier, shorter piece of the same utterance are given in one step: the decoder confirms them as far as
it would have given the same, and gives the rest. The outcome is the same as without a draft.

**Search.** A greedy search finds the words for the page while the caller speaks. A search for words that may be final
follows several transcripts side by side (`beam.py`) and expects usual phrases (`expected.py`).
"""

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from backend.extensions.local.recognition.beam import BeamSearch
from backend.extensions.local.recognition.expected import START
from backend.extensions.local.recognition.moonshine_files import DECODER, ENCODER, TOKENS, find
from backend.extensions.local.recognition.onnx_names import with_named_branches
from backend.extensions.local.recognition.scratch import scratch_folder
from backend.extensions.local.recognition.tokens import Vocabulary

CPU = ["CPUExecutionProvider"]
FATAL = 4
RATE = 16_000
"""Samples per second."""
TOKENS_PER_S = 6.5
"""The most tokens in a second of English; a decoder that gives more repeats itself (the model's documentation)."""
LEAST_TOKENS = 3
SHORTEST = RATE // 2
"""The number of samples below which silence is added: the encoder was not trained with fewer."""
LAYERS, HEADS, HEAD_SIZE = 8, 8, 52
WEIGHTS, PAGE = "session.optimized_model_external_initializers", 4096
"""The option by which onnxruntime saves large weights in a file, and the fewest bytes of a large weight."""

Samples = NDArray[np.float32]
Values = Sequence[ort.OrtValue]
Inputs = dict[str, ort.OrtValue]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The output of the decoder."""

    tokens: tuple[int, ...]
    log_probability: float
    """The mean natural logarithm over the tokens and the end; 0 is certain."""
    least: float = 0.0
    """The log-probability of the least certain token."""
    others: tuple[tuple[tuple[int, ...], float], ...] = ()
    """The tokens of other transcripts that are nearly as likely, each with its difference, the likeliest first."""


class MoonshineModel:
    """The model in memory: some 100 MB, and 250 MB of mapped weights, which the system can reclaim."""

    def __init__(self, *, threads: int = 1) -> None:
        """Load the model, which takes two to three seconds of one core. Raises `MissingLibrary`."""
        files = find()
        self.tokens = Vocabulary(files[TOKENS].read_bytes())
        with scratch_folder() as folder:  # a mapped file lasts until its last user ends
            sessions = [_session(files[each], folder, threads) for each in (ENCODER, DECODER)]
        self._encoder, self._decoder = sessions
        _give_back_memory()
        self._run = ort.RunOptions()
        pairs = [(layer, kind) for layer in range(LAYERS) for kind in ("key", "value")]
        self._past = [f"past_key_values.{layer}.decoder.{kind}" for layer, kind in pairs]
        self._heard = [f"past_key_values.{layer}.encoder.{kind}" for layer, kind in pairs]
        self._outputs = ["logits", *(f"present.{layer}.decoder.{kind}" for layer, kind in pairs)]
        self._attended = [f"present.{layer}.encoder.{kind}" for layer, kind in pairs]

    def stop(self) -> None:
        """Make the running transcription raise an error. Call it from another thread."""
        self._run.terminate = True

    def transcribe(
        self, samples: Samples, draft: Sequence[int] = (), searches: Sequence[BeamSearch] = ()
    ) -> Iterator[Decoded | None]:
        """Yield None after each step, so that the caller may stop, and the outcome of each search at its end.

        `samples` are within ±1; `draft` holds expected tokens, which may be right in whole or in part.
        """
        self._run = ort.RunOptions()
        self._run.log_severity_level = FATAL  # a stop is no error
        most = round(len(samples) / RATE * TOKENS_PER_S) + LEAST_TOKENS
        padded = np.pad(samples, (0, max(0, SHORTEST - len(samples)))).astype(np.float32)
        (vectors,) = self._encoder.run(None, {"input_values": padded[None]}, self._run)
        yield None
        given = [START, *draft[: most - 1]]
        likely, present, inputs = self._begin(vectors, given)
        for search in searches:
            yield from self._search(dict(inputs), given, likely, present, most, search)

    def _search(
        self, inputs: Inputs, given: list[int], likely: Samples, present: Values, most: int, search: BeamSearch
    ) -> Iterator[Decoded | None]:
        for at in range(len(given)):  # while the draft is the only path, there is no choice
            rows = search.extend(likely[:, at])
            if len(rows) != 1 or search.paths[0].tokens != tuple(given[1 : at + 2]):
                present = _shortened(present, len(given) - 1 - at)
                break
        while rows and len(search.paths[0].tokens) < most:
            yield None
            inputs |= dict(zip(self._past, _chosen(present, rows), strict=True))
            likely, present = self._step(inputs, [path.tokens[-1:] for path in search.paths], self._outputs)
            rows = search.extend(likely[:, -1])
        best, *others = search.likeliest()
        found = tuple((path.tokens, path.score - best.score) for path in others)
        yield replace(_decoded(best.tokens, best.chances), others=found)

    def _begin(self, vectors: Samples, given: Sequence[int]) -> tuple[Samples, Values, Inputs]:
        """Return the log-probabilities after each of the first tokens, the values to keep, and the next inputs.

        The decoder's first run computes the keys and values by which its layers attend to the encoder's vectors.
        """
        nothing = _value(np.zeros((1, HEADS, 0, HEAD_SIZE)))
        inputs = dict.fromkeys([*self._past, *self._heard], nothing) | {"encoder_hidden_states": _value(vectors)}
        likely, made = self._step(inputs | _goes_on(False), [given], [*self._outputs, *self._attended])
        present, heard = made[: len(self._past)], made[len(self._past) :]
        return likely, present, inputs | dict(zip(self._heard, heard, strict=True)) | _goes_on(True)

    def _step(
        self, inputs: Inputs, given: Sequence[Sequence[int]], outputs: Sequence[str]
    ) -> tuple[Samples, list[ort.OrtValue]]:
        """Return the log-probabilities after each of the given tokens, a row for each path, and the values to keep."""
        ids = ort.OrtValue.ortvalue_from_numpy(np.array(given, np.int64))
        logits, *present = self._decoder.run_with_ort_values(outputs, {**inputs, "input_ids": ids}, self._run)
        return _log_probabilities(logits.numpy()), present


def _session(path: Path, folder: Path, threads: int) -> ort.InferenceSession:
    """Load a model in onnxruntime's own format; its weights are floats in a mapped file in `folder`."""
    exported, floats = folder / f"{path.stem}.onnx", folder / f"{path.stem}.floats.onnx"
    _save(path, exported)
    exported.write_bytes(with_named_branches(exported.read_bytes()))
    _save(exported, floats)
    return ort.InferenceSession(str(floats), _options(threads), providers=CPU)


def _save(path: Path, saved: Path) -> None:
    """Save a model as ONNX with its weights in a file beside it; values that depend only on weights are computed."""
    options = _options(1)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(saved)
    options.add_session_config_entry(f"{WEIGHTS}_file_name", f"{saved.name}.data")
    options.add_session_config_entry(f"{WEIGHTS}_min_size_in_bytes", str(PAGE))
    ort.InferenceSession(str(path), options, providers=CPU)


def _options(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_mem_pattern = False  # made for inputs of one size; here it keeps memory for each size
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads leave the core to calls
    options.add_session_config_entry("session.disable_prepacking", "1")  # which would copy all weights into memory
    return options


def _give_back_memory() -> None:
    """Return the memory that loading has used to the system: a hundred megabytes that glibc would keep."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _goes_on(yes: bool) -> Inputs:
    """Return the input that says whether the tokens follow others; it chooses one of the decoder's two graphs."""
    return {"use_cache_branch": ort.OrtValue.ortvalue_from_numpy(np.array([yes]))}


def _value(numbers: NDArray[Any]) -> ort.OrtValue:
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(numbers, np.float32))


def _decoded(tokens: Sequence[int], chances: Sequence[float]) -> Decoded:
    chances = chances[: len(tokens) + 1]
    return Decoded(tuple(tokens), float(np.mean(chances)), min(chances))


def _log_probabilities(logits: Samples) -> Samples:
    less = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(less - np.log(np.exp(less).sum(axis=-1, keepdims=True)))


def _shortened(present: Sequence[ort.OrtValue], by: int) -> list[ort.OrtValue]:
    """Forget the last `by` tokens."""
    return [_value(each.numpy()[:, :, :-by]) for each in present] if by else list(present)


def _chosen(present: Sequence[ort.OrtValue], rows: Sequence[int]) -> list[ort.OrtValue]:
    """Return the values of the chosen paths, from which decoding continues."""
    if rows == list(range(present[0].shape()[0])):
        return list(present)
    return [_value(each.numpy()[rows]) for each in present]
