"""The codecs of calls by SIP, both ways: G.711 as in media streams, G.722, and Opus as in WebRTC."""

from backend.extensions.sip import g722
from backend.extensions.sip.sdp import CodecName
from backend.media import g711
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.media.receive import PacketDecoder

PacketEncoder = OpusEncoder | g722.G722Encoder | g711.Encoder


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
