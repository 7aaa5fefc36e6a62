"""SDP of calls by SIP (RFC 3264, 4566): the accepted part of an offer, and the answer. Pure; aiosipua parses it.

One audio stream by plain RTP is accepted; every other stream is refused with port 0. Of the codecs that both sides
have, the first in *our* order is used, since G.711 costs least.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from aiosipua.sdp import Codec, MediaDescription, SdpMessage, parse_sdp

from backend.errors import BadOffer

MAX_CHARS = 16_384
PTIME_MS = 20


class CodecName(StrEnum):
    """The names of the codecs in SDP, in capitals."""

    PCMU = "PCMU"
    PCMA = "PCMA"
    G722 = "G722"
    OPUS = "OPUS"


FORMATS = {
    CodecName.PCMU: (0, "PCMU/8000"),
    CodecName.PCMA: (8, "PCMA/8000"),
    CodecName.G722: (9, "G722/8000"),
    CodecName.OPUS: (96, "opus/48000/2"),
}
"""The payload type and `a=rtpmap` that we offer for each codec."""
KEYS_TYPE = 101
"""The payload type we offer for keys."""
CLOCKS = {CodecName.OPUS: 48_000}
"""The RTP clocks that are not 8,000 Hz."""


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """The agreement on a call's sound."""

    codec: CodecName
    payload_type: int
    keys_type: int | None
    """The payload type of keys (RFC 4733); None if the peer takes no keys."""
    keys_clock: int
    address: tuple[str, int]
    """The address at which the peer receives."""
    sends: bool
    """True if the peer sends sound."""
    receives: bool
    """True if the peer wants sound; if not, it has put us on hold."""

    @property
    def clock(self) -> int:
        """The timestamps per second (Hz)."""
        return CLOCKS.get(self.codec, 8_000)


@dataclass(frozen=True, slots=True)
class Here:
    """Our address for sound, and the number of the session's latest description."""

    host: str
    port: int
    session: int
    version: int


def read_description(text: str, codecs: Sequence[CodecName]) -> tuple[SdpMessage, MediaPlan]:
    """Parse an offer or answer; return it with the part that we accept. Raises `BadOffer`."""
    if len(text) > MAX_CHARS:
        raise BadOffer("The description of the call is too long.")
    try:
        description = parse_sdp(text)
    except (ValueError, IndexError):
        raise BadOffer("The description of the call cannot be read.") from None
    audio = _audio(description)
    if audio is None:
        raise BadOffer("The call has no audio by plain RTP.", hint="Offer RTP/AVP; SRTP is not taken.")
    codec = _best(audio.codecs, codecs)
    connection = audio.connection or description.connection
    try:
        host = str(ipaddress.ip_address(connection.address.partition("/")[0] if connection else ""))
    except ValueError:
        raise BadOffer("The description names no address for the sound.") from None
    held = ipaddress.ip_address(host).is_unspecified  # the old form of hold (RFC 2543)
    direction = _direction(description, audio)
    clock = CLOCKS.get(CodecName(codec.encoding_name.upper()), 8_000)
    keys = _keys(audio.codecs, clock)
    return description, MediaPlan(
        codec=CodecName(codec.encoding_name.upper()),
        payload_type=codec.payload_type,
        keys_type=keys.payload_type if keys else None,
        keys_clock=keys.clock_rate if keys else clock,
        address=(host, audio.port),
        sends=direction in ("sendrecv", "sendonly"),
        receives=direction in ("sendrecv", "recvonly") and not held,
    )


def write_answer(offer: SdpMessage, plan: MediaPlan, here: Here) -> str:
    """Return the answer to an offer of which `plan` was accepted."""
    taken = _audio(offer)
    lines = _envelope(here)
    for media in offer.media:
        if media is taken:
            lines += _stream(plan, here)
        else:
            lines.append(f"m={media.media} 0 {media.proto} {' '.join(media.formats) or '0'}")
    return "\r\n".join(lines) + "\r\n"


def write_offer(codecs: Sequence[CodecName], here: Here) -> str:
    """Return this server's own offer, for a call that came without one."""
    kinds = [FORMATS[codec] for codec in codecs]
    types = " ".join(str(number) for number, _ in kinds)
    lines = [*_envelope(here), f"m=audio {here.port} RTP/AVP {types} {KEYS_TYPE}"]
    lines += [f"a=rtpmap:{number} {name}" for number, name in kinds]
    lines += [f"a=rtpmap:{KEYS_TYPE} telephone-event/8000", f"a=fmtp:{KEYS_TYPE} 0-15"]
    return "\r\n".join([*lines, f"a=ptime:{PTIME_MS}", "a=sendrecv"]) + "\r\n"


def write_again(plan: MediaPlan, here: Here) -> str:
    """Return an offer of the present agreement, for a session refresh."""
    return "\r\n".join([*_envelope(here), *_stream(plan, here)]) + "\r\n"


def _envelope(here: Here) -> list[str]:
    where = f"IN IP{6 if ':' in here.host else 4} {here.host}"
    return ["v=0", f"o=- {here.session} {here.version} {where}", "s=-", f"c={where}", "t=0 0"]


def _stream(plan: MediaPlan, here: Here) -> list[str]:
    types = [str(plan.payload_type)] + ([str(plan.keys_type)] if plan.keys_type is not None else [])
    lines = [f"m=audio {here.port} RTP/AVP {' '.join(types)}", f"a=rtpmap:{plan.payload_type} {FORMATS[plan.codec][1]}"]
    if plan.keys_type is not None:
        lines += [f"a=rtpmap:{plan.keys_type} telephone-event/{plan.keys_clock}", f"a=fmtp:{plan.keys_type} 0-15"]
    direction = {(True, True): "sendrecv", (True, False): "recvonly", (False, True): "sendonly"}
    return [*lines, f"a=ptime:{PTIME_MS}", f"a={direction.get((plan.sends, plan.receives), 'inactive')}"]


def _audio(description: SdpMessage) -> MediaDescription | None:
    """Return the first audio that is offered as plain RTP; port 0 withdraws an offer."""
    fitting = (
        media
        for media in description.media
        if media.media == "audio" and 0 < media.port < 65_536 and media.proto in ("RTP/AVP", "RTP/AVPF")
    )
    return next(fitting, None)


def _best(offered: Sequence[Codec], codecs: Sequence[CodecName]) -> Codec:
    """Return the offered codec that comes first in our order. Raises `BadOffer`."""
    for wanted in codecs:
        for codec in offered:
            if (
                codec.encoding_name.upper() == wanted
                and 0 <= codec.payload_type < 128  # seven bits (RFC 3550, 5.1)
                and codec.clock_rate == (CLOCKS.get(wanted, 8_000))
            ):
                return codec
    raise BadOffer("No offered codec is supported.", hint=f"Offer one of {', '.join(codecs)}.")


def _keys(offered: Sequence[Codec], clock: int) -> Codec | None:
    """Return the format of keys, if possible the one with the clock rate of the sound."""
    found = [
        codec
        for codec in offered
        if codec.encoding_name.lower() == "telephone-event" and 96 <= codec.payload_type < 128 and codec.clock_rate > 0
    ]
    return next((codec for codec in found if codec.clock_rate == clock), found[0] if found else None)


def _direction(description: SdpMessage, audio: MediaDescription) -> str:
    for attributes in (audio.attributes, description.attributes):
        for direction in ("sendrecv", "sendonly", "recvonly", "inactive"):
            if direction in attributes:
                return direction
    return "sendrecv"
