"""Opus at 24 kHz mono through libopus itself: a small ctypes binding, without a trip through 48 kHz stereo.

Theory. libopus encodes and decodes 24 kHz mono PCM16 directly, whatever the peer's own rate is, so nothing
needs resampling and one frame costs tens of microseconds. An encoder and a decoder each hold state that runs
from packet to packet: use one pair per call, in order, and report every lost packet to the decoder:

- `recover(next_packet)` rebuilds the packet lost just before `next_packet` from the redundant copy that the
  peer's encoder put into it (in-band FEC); without such a copy libopus conceals instead;
- `conceal()` invents a plausible continuation and fades it out (packet-loss concealment).

The library is the system's or else the copy inside PyAV's wheel. Functions are called with the GIL held (`PyDLL`): they
take 15–150 µs, and another thread could keep a released GIL for 5 ms.

Reference: RFC 6716, and the reference manual of libopus (opus_encoder, opus_decoder, opus_ctl).
"""

import ctypes
import ctypes.util
import importlib.util
from functools import cache
from pathlib import Path

from backend.errors import BadRequest, MissingLibrary, VoiceError
from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, SILENCE, Frame
from backend.media.jitter_buffer import RTP_CLOCK, packet_samples

SILENCE_PACKET = bytes.fromhex("6807c97227e13e5308e8fc0fd1232dc2e2e0")
"""Twenty milliseconds of silence, prepared: the packet of an encoder at 32 kbit/s that has come to rest.

It may be repeated as long as nothing plays (decoded, no sample is beyond ±1), but only between an encoder and a decoder
that are both at rest: an encoder that has not encoded a pause codes the next word against a history that the decoder no
longer has. The worst error that 40 such packets cause in the first frame of the next word, over 40 pairs of hard cuts,
is -43 dB after five frames of really encoded silence, but +2 dB, an audible crack, after none. (The well-known
three-byte silence of another mode, f8 ff fe, resets the decoder: +13 dB after any number.) `OpusEncoder.rest` encodes
the five frames. Bitstreams are standard: the packet decodes alike everywhere.
"""
PLAIN_SILENCE_PACKET = bytes.fromhex("d8fffe")
"""Twenty milliseconds of silence between an encoder and a decoder without redundancy: three bytes, which leave no trace
after two frames of really encoded silence."""
SILENCE_PACKETS = frozenset({SILENCE_PACKET, PLAIN_SILENCE_PACKET})
RESTING_AFTER = 5
"""The frames of really encoded silence before the prepared packet."""
PLAIN_BITRATE = 64_000
"""The bit/s without redundancy, at which libopus by itself chooses CELT for a voice."""

EMPTY_BYTES = 2
"""The most bytes of a packet without content, which announces a pause."""
MAX_PACKET_BYTES = 1275
"""The largest single Opus frame (RFC 6716, 3.2.1); ours are 20 ms, one frame a packet."""
MAX_DECODED_SAMPLES = SAMPLE_RATE * 120 // 1000
"""The samples of the longest possible packet: 120 ms."""

_CHANNELS = 1
_APPLICATION_VOIP = 2048
_SET_BITRATE = 4002
_SET_COMPLEXITY = 4010
_SET_INBAND_FEC = 4012
_SET_PACKET_LOSS_PERC = 4014
_SET_DTX = 4016
_SET_SIGNAL = 4024
_SIGNAL_VOICE = 3001
_SIGNAL_MUSIC = 3002
_SMALLEST_STEP = SAMPLE_RATE // 400
"""The samples in 2.5 ms, of which concealed and recovered lengths are multiples."""


class BadPacket(BadRequest):
    """The peer sent something that is not an Opus packet."""

    hint = "Send Opus as RFC 7587 describes it."


class CodecFailed(VoiceError):
    """libopus refused a call: a mistake of this module, or no memory."""


class _Native:
    """The state that libopus keeps of one encoder or decoder."""

    def __init__(self, kind: str, *parameters: int) -> None:
        self._state: int | None = None
        self._opus = load_opus()
        self._destroy = getattr(self._opus, f"opus_{kind}_destroy")
        error = ctypes.c_int()
        create = getattr(self._opus, f"opus_{kind}_create")
        self._state = create(SAMPLE_RATE, _CHANNELS, *parameters, ctypes.byref(error))
        self._check(error.value)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Release the native state. Safe to call twice."""
        if self._state is not None:
            self._destroy(self._state)
            self._state = None

    def _check(self, code: int) -> None:
        if code < 0:
            raise CodecFailed(f"libopus: {self._reason(code)}")

    def _reason(self, code: int) -> str:
        reason: bytes = self._opus.opus_strerror(code)
        return reason.decode("ascii", "replace")


class OpusEncoder(_Native):
    """One call's outgoing speech. Raises `MissingLibrary` without libopus, `CodecFailed` on bad parameters.

    Complexity 0 at 40 kbit/s balances cost and quality: it is as near to the original as complexity 5 at 32 kbit/s and
    rebuilds lost packets as well, in less than half the time. Measured with nine sentences of three voices, libopus
    1.3.1, a busy core: microseconds, signal to noise, mel distance, signal to noise when rebuilt:

        32 kbit/s   0: 115 µs, 6.3 dB, 4.1 dB, 1.9 dB    5: 220 µs, 6.1 dB, 4.1 dB, 5.4 dB    9: 402 µs, 6.0, 3.8, 5.6
        40 kbit/s   0:  95 µs, 6.3 dB, 4.0 dB, 5.5 dB    5: 220 µs, 6.2 dB, 3.9 dB, 5.6 dB    9: 426 µs, 6.1, 3.8, 5.6

    At 32 kbit/s 0 and 1 leave the redundancy out.

    Redundancy is worth its price where packets get lost. Otherwise `set_fec(False)` makes libopus code the voice like
    music, by CELT alone, at 64 kbit/s. That takes 28 µs instead of 96, with 6.0 dB signal to noise instead of 6.3, and
    2.6 dB mel distance instead of 4.0. But a lost packet is then rebuilt with 1.2 dB instead of 5.5.
    """

    def __init__(
        self, bitrate: int = 40_000, complexity: int = 0, expected_loss_percent: int = 5, *, pauses: bool = False
    ) -> None:
        """Take `bitrate` in bit/s and `complexity` 0–10; redundancy (FEC) is sized for the expected loss.

        With `pauses`, silence becomes packets of 1 or 2 bytes: the first announces it, the others need not be sent.
        """
        super().__init__("encoder", _APPLICATION_VOIP)
        self._packet = ctypes.create_string_buffer(MAX_PACKET_BYTES)
        self._written = memoryview(self._packet)
        self._bitrate = bitrate
        self._set(_SET_COMPLEXITY, complexity)
        self._set(_SET_PACKET_LOSS_PERC, expected_loss_percent)
        self._set(_SET_DTX, int(pauses))
        self.set_fec(True)
        self._silent_frames = RESTING_AFTER  # a new encoder is at rest

    def set_fec(self, wanted: bool) -> None:
        """Switch redundancy, with which each packet can rebuild the one before; at first it is on."""
        if self._state is None:
            raise CodecFailed("The encoder is closed.")
        self._set(_SET_SIGNAL, _SIGNAL_VOICE if wanted else _SIGNAL_MUSIC)
        self._set(_SET_BITRATE, self._bitrate if wanted else PLAIN_BITRATE)
        self._set(_SET_INBAND_FEC, int(wanted))
        self._silence = SILENCE_PACKET if wanted else PLAIN_SILENCE_PACKET
        self._silent_frames = 0  # both ends have to come to rest again

    def encode(self, frame: Frame) -> bytes:
        """Return the packet of one 20 ms frame."""
        if self._state is None or len(frame) != 2 * FRAME_SAMPLES:
            raise CodecFailed("The encoder is closed." if self._state is None else "A frame must have 960 bytes.")
        size = self._opus.opus_encode(self._state, frame, FRAME_SAMPLES, self._packet, MAX_PACKET_BYTES)
        self._check(size)
        self._silent_frames = 0
        return self._written[:size].tobytes()

    def rest(self) -> bytes:
        """Return the packet of 20 ms of silence: encoded for the first 100 ms, then the prepared one."""
        if self._silent_frames >= RESTING_AFTER:
            return self._silence
        silent_frames = self._silent_frames
        packet = self.encode(SILENCE)
        self._silent_frames = silent_frames + 1
        return packet

    def _set(self, request: int, value: int) -> None:
        self._check(self._opus.opus_encoder_ctl(self._state, request, value))


class OpusDecoder(_Native):
    """One call's incoming speech. Every method returns 24 kHz mono PCM16."""

    clock = RTP_CLOCK
    empty_bytes = EMPTY_BYTES
    samples = staticmethod(packet_samples)

    def __init__(self) -> None:
        super().__init__("decoder")
        self._pcm = ctypes.create_string_buffer(MAX_DECODED_SAMPLES * 2)
        self._sound = memoryview(self._pcm)

    def decode(self, packet: bytes) -> bytes:
        """Return the packet's audio: 2.5 to 120 ms, stereo mixed down. Raises `BadPacket`."""
        if not packet:
            raise BadPacket("An empty packet is not Opus.")
        return self._decode(packet, MAX_DECODED_SAMPLES, recover=0)

    def recover(self, next_packet: bytes, samples: int = FRAME_SAMPLES) -> bytes:
        """Return `samples` of the packet lost just before `next_packet`; call it before decoding `next_packet`."""
        if not next_packet:
            return self.conceal(samples)
        return self._decode(next_packet, _whole_steps(samples), recover=1)

    def conceal(self, samples: int = FRAME_SAMPLES) -> bytes:
        """Return a plausible continuation of the latest audio, `samples` long, which fades when repeated."""
        return self._decode(None, _whole_steps(samples), recover=0)

    def _decode(self, packet: bytes | None, samples: int, *, recover: int) -> bytes:
        if self._state is None:
            raise CodecFailed("The decoder is closed.")
        size = 0 if packet is None else len(packet)
        decoded = self._opus.opus_decode(self._state, packet, size, self._pcm, samples, recover)
        if decoded < 0:
            raise BadPacket(f"libopus: {self._reason(decoded)}")
        return self._sound[: 2 * decoded].tobytes()


@cache
def load_opus() -> ctypes.PyDLL:
    """Return libopus, loaded once. Raises `MissingLibrary`."""
    for candidate in _candidates():
        try:
            return _declare(ctypes.PyDLL(candidate))
        except (OSError, AttributeError):
            continue
    raise MissingLibrary(
        "libopus was not found.",
        hint="Install it: `apt install libopus0` (Debian, Ubuntu) or `brew install opus` (macOS).",
    )


def _candidates() -> list[str]:
    """Return the file names of libopus to try, the system's own first."""
    found = ctypes.util.find_library("opus")
    names = [found] if found else []
    names += ["libopus.so.0", "libopus.0.dylib"]
    package = importlib.util.find_spec("av")
    if package is not None and package.origin is not None:
        bundled = Path(package.origin).parent.parent / "av.libs"
        names += sorted(str(path) for path in bundled.glob("libopus-*"))
    return names


def _declare(opus: ctypes.PyDLL) -> ctypes.PyDLL:
    """Declare each function's types for ctypes. Raises `AttributeError` if the library is not libopus."""
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures: dict[str, tuple[type | None, list[type]]] = {
        "opus_strerror": (text, [number]),
        "opus_get_version_string": (text, []),
        "opus_encoder_create": (pointer, [number, number, number, pointer]),
        "opus_encoder_destroy": (None, [pointer]),
        "opus_encode": (number, [pointer, text, number, pointer, ctypes.c_int32]),
        "opus_decoder_create": (pointer, [number, number, pointer]),
        "opus_decoder_destroy": (None, [pointer]),
        "opus_decode": (number, [pointer, text, ctypes.c_int32, pointer, number, number]),
        # Variadic in C: only the fixed arguments are declared, so that ctypes passes the rest the variadic way.
        "opus_encoder_ctl": (number, [pointer, number]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(opus, name)
        function.restype = result
        function.argtypes = arguments
    return opus


def _whole_steps(samples: int) -> int:
    steps = max(1, round(samples / _SMALLEST_STEP))
    return min(steps * _SMALLEST_STEP, MAX_DECODED_SAMPLES)
