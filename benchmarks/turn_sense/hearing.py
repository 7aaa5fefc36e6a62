"""The replies that a caller heard, their times and their loudness, packet by packet."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE
from benchmarks import phone
from benchmarks.heard import Heard
from benchmarks.turn_sense.plan import CallResult, Played, ProviderLog, Reply
from benchmarks.turn_sense.provider import TONES_HZ

AUDIBLE_DBFS = -55.0
LEAST_PACKETS = 3
"""Fewer packets in a row of one pitch are a seam between two."""
KEPT_S = 8.0
"""Seconds by which a reply may be heard later than with immediate playing."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeardReply:
    """A heard reply: the times of its packets, in seconds on the steady clock, and their loudness, in dBFS."""

    reply: Reply
    at: Numbers
    db: Numbers

    @property
    def began(self) -> float:
        """Its first sound."""
        return float(self.at[0])

    @property
    def ended(self) -> float:
        """The end of its last."""
        return float(self.at[-1]) + 0.02

    def holes(self, since: float, until: float) -> list[float]:
        """The silences within, in seconds; the last reaches to `until` if it has ended by then."""
        inside = self.at[(self.at >= since - 0.02) & (self.at <= until)]
        moments = np.concatenate(([since], inside, [until]))
        return [float(gap) - 0.02 for gap in np.diff(moments) if gap > 0.03]


@dataclass(frozen=True, slots=True)
class Sound:
    """All heard replies, in the order of their beginnings."""

    replies: list[HeardReply]

    def between(self, since: float, until: float) -> list[HeardReply]:
        """Those with their first sound in that span."""
        return [each for each in self.replies if since <= each.began < until]

    def at(self, moment: float) -> HeardReply | None:
        """The reply that sounds then, or has within a tenth of a second before."""
        near = [each for each in self.replies if ((each.at > moment - 0.1) & (each.at <= moment + 0.02)).any()]
        return near[-1] if near else None


def heard_in(path: Path, log: ProviderLog, *, telephone: bool = False) -> tuple[list[Played], Sound, str]:
    """A call's result, decoded and matched with the provider's messages; of the `telephone`, from G.711."""
    try:
        result = msgspec.msgpack.decode(path.read_bytes(), type=CallResult)
    except OSError:
        return [], Sound([]), "It was not made."
    if telephone:
        at, db, tones = _measured(result.at, phone.decoded(result.packets))
        return result.played, Sound(_matched(at, db, tones, log)), result.trouble
    heard = Heard()
    for moment, packet in zip(result.at, result.packets, strict=True):
        heard.keep(packet, moment)
    decoded = heard.decoded()
    at, db, tones = _measured(decoded.packets.at, decoded.sounds)
    return result.played, Sound(_matched(at, db, tones, log)), result.trouble


def _measured(at: list[float], sounds: list[bytes]) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
    """For every packet its arrival, its level, and its pitch, which is -1 for silence."""
    pcm = b"".join(sound.ljust(2 * FRAME_SAMPLES, b"\0")[: 2 * FRAME_SAMPLES] for sound in sounds)
    frames = np.frombuffer(pcm, "<i2").reshape(-1, FRAME_SAMPLES) / 32768
    db = 10 * np.log10(np.mean(frames**2, axis=1) + 1e-12)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(FRAME_SAMPLES) / SAMPLE_RATE, TONES_HZ))
    tones = np.argmax(np.abs(frames @ turns), axis=1)
    return np.asarray(at), db, np.where(db > AUDIBLE_DBFS, tones, -1)


def _matched(at: Numbers, db: Numbers, tones: NDArray[np.int64], log: ProviderLog) -> list[HeardReply]:
    indexes: dict[str, list[int]] = {}
    replies = {reply.id: reply for reply in log.replies}
    for tone, group in groupby(range(len(at)), key=lambda index: int(tones[index])):
        run = list(group)
        if tone >= 0 and len(run) >= LEAST_PACKETS:
            reply = _reply_of(tone, float(at[run[0]]), log)
            if reply is not None:
                indexes.setdefault(reply.id, []).extend(run)
    found = [HeardReply(replies[name], at[kept], db[kept]) for name, kept in indexes.items()]
    return sorted(found, key=lambda each: each.began)


def _reply_of(tone: int, moment: float, log: ProviderLog) -> Reply | None:
    """The latest reply of that pitch with sound sent by then."""
    possible = [
        reply
        for reply in log.replies
        if reply.tone == tone
        and reply.first_audio
        and reply.first_audio - 0.02 <= moment <= reply.first_audio + reply.audio_ms / 1000 + KEPT_S
    ]
    return max(possible, key=lambda reply: reply.first_audio, default=None)
