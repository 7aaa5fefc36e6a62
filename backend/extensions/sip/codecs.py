"""The codecs of calls by SIP, both ways: G.711 as a media stream has it, G.722, and Opus as WebRTC has it."""

from __future__ import annotations

from typing import Protocol

from backend.extensions.sip import g722
from backend.extensions.sip.sdp import CodecName
from backend.media import g711
from backend.media.frame import Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.media.receive import PacketDecoder


class PacketEncoder(Protocol):
    """Encodes one stream, 20 ms a packet."""

    def encode(self, frame: Frame, /) -> bytes:
        """Return the payload of a frame."""
        ...

    def rest(self) -> bytes:
        """Return the payload of 20 ms in which nothing plays."""
        ...

    def close(self) -> None:
        """Release native state. Safe to call twice."""
        ...


def open_encoder(codec: CodecName) -> PacketEncoder:
    """Return a new encoder."""
    match codec:
        case CodecName.OPUS:
            return OpusEncoder()
        case CodecName.G722:
            return g722.G722Encoder()
        case _:
            return g711.Encoder(g711.Law(codec.value))


def open_decoder(codec: CodecName) -> PacketDecoder:
    """Return a new decoder."""
    match codec:
        case CodecName.OPUS:
            return OpusDecoder()
        case CodecName.G722:
            return g722.G722Decoder()
        case _:
            return g711.Decoder(g711.Law(codec.value))
