"""Which offers are accepted, and what is removed from them."""

import pytest

from backend.errors import BadOffer
from backend.transports.webrtc.offer import (
    MAX_CANDIDATES,
    allow_address,
    allow_candidate,
    asks_for_pauses,
    sanitise_offer,
)
from tests.support.offers import CHROMIUM, FIREFOX, candidate, with_candidates, without


def test_browsers_offers_are_accepted() -> None:
    assert "opus/48000/2" in sanitise_offer(CHROMIUM)
    assert "opus/48000/2" in sanitise_offer(FIREFOX)


def test_local_names_and_end_of_candidates_are_removed() -> None:
    clean = sanitise_offer(FIREFOX)
    assert ".local" in FIREFOX
    assert ".local" not in clean
    assert "end-of-candidates" not in clean


def test_everything_else_stays() -> None:
    kept = [line for line in FIREFOX.split("\r\n") if "candidate" not in line]
    assert sanitise_offer(FIREFOX).split("\r\n") == kept


@pytest.mark.parametrize(
    ("wishes", "asks"),
    [
        ("minptime=10;useinbandfec=1;usedtx=1", True),
        ("usedtx=1; stereo=0", True),
        ("stereo=0; usedtx=1", True),
        ("minptime=10;useinbandfec=1", False),
        ("useinbandfec=1;usedtx=0", False),
        ("useinbandfec=1;usedtx=10", False),
    ],
)
def test_a_caller_asks_for_pauses_in_its_wishes_for_opus(wishes: str, asks: bool) -> None:
    assert not asks_for_pauses(CHROMIUM) and not asks_for_pauses(FIREFOX)
    offer = CHROMIUM.replace("minptime=10;useinbandfec=1", wishes)
    assert f"a=fmtp:111 {wishes}\r\n" in offer
    assert asks_for_pauses(sanitise_offer(offer)) is asks


def test_an_offer_without_candidates_is_accepted() -> None:
    assert sanitise_offer(without(CHROMIUM, "a=candidate"))


def test_at_most_ten_candidates_are_kept() -> None:
    many = with_candidates(CHROMIUM, [candidate(f"198.51.100.{n}", 5000 + n) for n in range(1, 200)])
    assert sanitise_offer(many).count("a=candidate:") == MAX_CANDIDATES == 10


def test_refused_candidates_do_not_count_towards_the_ten() -> None:
    bad = [candidate("224.0.0.1", 5000)] * 20
    good = candidate("203.0.113.5", 5000)
    assert good in sanitise_offer(with_candidates(CHROMIUM, [*bad, good]))


@pytest.mark.parametrize(
    "host", ["192.168.1.4", "10.0.0.1", "203.0.113.9", "127.0.0.1", "::1", "fd00::2", "2001:db8::1", "100.64.0.1"]
)
def test_private_public_and_loopback_addresses_are_allowed(host: str) -> None:
    assert allow_address(host)


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "224.0.0.251",
        "239.255.255.250",
        "ff02::1",
        "255.255.255.255",
        "169.254.169.254",
        "fe80::1",
        "240.0.0.1",
        "::ffff:224.0.0.1",
        "example.com",
        "a1b2.local",
        "",
        "192.168.1",
        "127.0.0.1 ",
    ],
)
def test_multicast_link_local_addresses_and_names_are_refused(host: str) -> None:
    assert not allow_address(host)


@pytest.mark.parametrize(
    "value",
    [
        "1 1 udp 2122260223 192.168.1.4 0 typ host",
        "1 1 udp 2122260223 192.168.1.4 65536 typ host",
        "1 1 udp 2122260223 192.168.1.4 x typ host",
        "1 1 tcp 1518280447 192.168.1.4 9 typ host tcptype active",
        "1 2 udp 2122260222 192.168.1.4 5001 typ host",
        "1 1 udp 2122260223 192.168.1.4 5000 typ odd",
        "1 1 udp x 192.168.1.4 5000 typ host",
        "1 1 udp 2122260223 192.168.1.4 5000 typ",
        "",
    ],
)
def test_candidates_that_cannot_carry_our_audio_are_refused(value: str) -> None:
    assert not allow_candidate(value)


@pytest.mark.parametrize(
    ("offer", "complaint"),
    [
        ("", "not an SDP offer"),
        ("hello", "not an SDP offer"),
        ("v=0\r\n" * 1001, "not an SDP offer"),
        ("v=0\r\n" + "x" * 70_000, "larger than 64 KB"),
        (without(CHROMIUM, "m="), "one audio section"),
        (CHROMIUM.replace("m=audio", "m=video"), "one audio section"),
        (CHROMIUM + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n", "one audio section"),
        (CHROMIUM + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n", "one audio section"),
        (CHROMIUM.replace("opus/48000", "speex/16000"), "Opus"),
        (CHROMIUM.replace("SAVPF 111", "SAVPF 112"), "Opus"),
        (CHROMIUM.replace("a=sendrecv", "a=recvonly"), "both ways"),
        (CHROMIUM.replace("a=sendrecv", "a=inactive"), "both ways"),
        (without(CHROMIUM, "a=ice-ufrag"), "user name"),
        (without(CHROMIUM, "a=ice-pwd"), "password"),
        (CHROMIUM.replace("a=ice-pwd:", "a=ice-pwd:short\r\na=x:"), "password"),
        (without(CHROMIUM, "a=fingerprint"), "fingerprint"),
        (CHROMIUM.replace("sha-256", "md5"), "fingerprint"),
        (without(CHROMIUM, "a=setup"), "DTLS"),
    ],
)
def test_an_unanswerable_offer_is_refused_with_a_reason(offer: str, complaint: str) -> None:
    with pytest.raises(BadOffer, match=complaint):
        sanitise_offer(offer)
