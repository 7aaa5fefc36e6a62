"""RTP headers, our own and those of others, and packets that are refused."""

import pytest
from aiortc.rtp import HeaderExtensionsMap, RtpPacket
from pylibsrtp import Policy, Session

from backend.transports.webrtc.srtp import MARKER, Packet, is_media, read_packet, unprotect, write_packet

PLAIN = bytes.fromhex("80e0ffff0000000a deadbeef".replace(" ", "")) + b"opus"


def test_another_library_reads_our_headers() -> None:
    packet = RtpPacket.parse(write_packet(96, 65_535, 2**32 - 1, 0xDEADBEEF, b"opus"), HeaderExtensionsMap())
    assert (packet.payload_type, packet.sequence_number, packet.timestamp) == (96, 65_535, 2**32 - 1)
    assert (packet.ssrc, packet.payload, packet.marker) == (0xDEADBEEF, b"opus", 0)


def test_the_first_packet_after_a_pause_is_marked() -> None:
    packet = RtpPacket.parse(write_packet(96 | MARKER, 1, 2, 3, b"opus"), HeaderExtensionsMap())
    assert (packet.payload_type, packet.marker) == (96, 1)


def test_a_plain_packet_is_read() -> None:
    assert read_packet(PLAIN) == Packet(96, 65_535, 10, 0xDEADBEEF, b"opus")


def test_sources_extensions_and_padding_are_left_out() -> None:
    header = bytes([0x80 | 0x20 | 0x10 | 2]) + PLAIN[1:12]
    extension = bytes.fromhex("bede0001") + b"four"
    assert read_packet(header + b"csrc" * 2 + extension + b"opus" + b"\0\0\3") == Packet(
        96, 65_535, 10, 0xDEADBEEF, b"opus"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PLAIN[:11],
        b"\x40" + PLAIN[1:],
        b"\x8f" + PLAIN[1:],  # fifteen sources announced
        b"\x90" + PLAIN[1:12],  # an extension announced
        b"\x90" + PLAIN[1:12] + bytes.fromhex("bede00ff"),  # longer than the packet
        b"\xa0" + PLAIN[1:] + b"\xff",  # more padding than packet
        b"\xa0" + PLAIN[1:] + b"\0",  # no padding where some is announced
    ],
)
def test_a_truncated_packet_is_refused(data: bytes) -> None:
    assert read_packet(data) is None


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (PLAIN, True),
        (b"\x80\x60" + bytes(10), True),
        (b"\x80\xc8" + bytes(26), False),  # a sender's report
        (b"\x80\xc9" + bytes(26), False),  # a receiver's
        (b"\x00\x01" + bytes(18), False),  # STUN
        (b"\x16\xfe" + bytes(18), False),  # DTLS
        (b"\x80", False),
        (b"", False),
    ],
)
def test_media_is_distinguished_from_other_packets_on_its_socket(data: bytes, media: bool) -> None:
    assert is_media(data) is media


def test_a_repeated_forged_cut_or_long_packet_is_refused() -> None:
    kinds = (Policy.SSRC_ANY_OUTBOUND, Policy.SSRC_ANY_INBOUND)
    sender, receiver = (Session(Policy(key=bytes(range(30)), ssrc_type=kind)) for kind in kinds)
    protected = sender.protect(write_packet(96, 2, 1920, 7, b"two"))
    for forged in (protected[:-1] + bytes([protected[-1] ^ 1]), protected[:11], b"", b"\x80" * 2000):
        assert unprotect(receiver, forged) is None
    assert unprotect(receiver, protected) == Packet(96, 2, 1920, 7, b"two")
    assert unprotect(receiver, protected) is None
