"""The pure parts of SIP: transactions by the clock, digests, descriptions, keys in RTP, and the caller's identity."""

from dataclasses import dataclass, field

import pytest
from aiosipua import SipRequest
from aiosipua.auth import SipDigestAuth, build_credentials
from aiosipua.headers import parse_auth, stringify_auth

from backend.errors import BadOffer, BadRequest
from backend.extensions.sip.digest import DigestAuth, DigestVerdict
from backend.extensions.sip.gate import Admitted, Gate, Refused, caller_of
from backend.extensions.sip.keys import KeyReader
from backend.extensions.sip.links import address_towards
from backend.extensions.sip.messages import note_source, read_message, response_to, transaction_key
from backend.extensions.sip.sdp import CodecName, Here, read_description, write_answer, write_offer
from backend.extensions.sip.transactions import LIFE_S, Transactions
from backend.transports.webrtc.srtp import Packet

ALL = list(CodecName)
OFFER = """v=0
o=- 1 1 IN IP4 192.0.2.7
s=-
c=IN IP4 192.0.2.7
t=0 0
m=audio 4000 RTP/AVP 9 8 0 110
a=rtpmap:110 telephone-event/8000
m=video 4002 RTP/AVP 96
a=rtpmap:96 H264/90000
"""


@dataclass
class Wire:
    """A link that keeps all sent messages."""

    reliable: bool = False
    protocol: str = "UDP"
    peer: tuple[str, int] = ("192.0.2.7", 5060)
    here: tuple[str, int] = ("192.0.2.1", 5060)
    sent: list[bytes] = field(default_factory=list)

    def send(self, data: bytes) -> None:
        self.sent.append(data)


def invite(method: str = "INVITE", **headers: str) -> SipRequest:
    """An incoming request."""
    lines = {
        "Via": "SIP/2.0/UDP 192.0.2.7:5062;branch=z9hG4bKa;rport",
        "From": "<sip:+15550123456@pbx.test>;tag=1",
        "To": "<sip:assistant@192.0.2.1>",
        "Call-ID": "c1",
        "CSeq": f"1 {method}",
    }
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    text = f"{method} sip:assistant@192.0.2.1 SIP/2.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n"
    message = read_message(text.encode())
    assert isinstance(message, SipRequest)
    return message


def moments(transactions: Transactions, wire: Wire, until_s: float) -> list[float]:
    """The times at which the message is sent again."""
    found, before = [], len(wire.sent)
    for tick in range(int(until_s * 10)):
        for link, data in transactions.expire(tick / 10).repeat:
            link.send(data)
        if len(wire.sent) > before:
            found.append(tick / 10)
            before = len(wire.sent)
    return found


def test_a_request_of_ours_is_repeated_after_growing_pauses_and_then_fails() -> None:
    transactions, wire, outcome = Transactions(), Wire(), list[object]()
    transactions.ask(invite("BYE"), wire, outcome.append, 0.0)
    assert moments(transactions, wire, 20) == [0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5]
    [client] = transactions.expire(LIFE_S).unanswered
    client.on_final(None)
    assert outcome == [None] and len(transactions) == 0


def test_an_answer_ends_the_repetition() -> None:
    transactions, wire, request, outcome = Transactions(), Wire(), invite("BYE"), list[object]()
    transactions.ask(request, wire, outcome.append, 0.0)
    transactions.take(response_to(request, 100))
    assert outcome == []
    transactions.take(final := response_to(request, 200))
    assert outcome == [final] and moments(transactions, wire, 10) == []


@pytest.mark.parametrize("status", [200, 486])
def test_a_final_answer_to_an_invite_is_repeated_until_its_ack(status: int) -> None:
    transactions, wire, request = Transactions(), Wire(), invite()
    transaction = transactions.open(transaction_key(request), request, wire, 0.0)
    assert transaction
    transactions.answer(transaction, response_to(request, 100), 0.0)
    transactions.answer(transaction, response_to(request, status), 0.0)
    assert moments(transactions, wire, 4) == [0.5, 1.5, 3.5]
    transactions.acknowledge(transaction)
    assert moments(transactions, wire, 20) == []
    assert transactions.expire(LIFE_S).unacknowledged == [] and len(transactions) == 0


def test_an_acceptance_without_an_ack_is_known_after_32_seconds() -> None:
    transactions, wire, request = Transactions(), Wire(), invite()
    transaction = transactions.open(transaction_key(request), request, wire, 0.0)
    assert transaction
    transactions.answer(transaction, response_to(request, 200), 0.0)
    assert transactions.expire(31.9).unacknowledged == []
    assert transactions.expire(32.0).unacknowledged == [transaction]


def test_the_number_of_transactions_is_limited() -> None:
    transactions, wire, outcome = Transactions(most=2), Wire(), list[object]()
    for number in range(3):
        request = invite(Call_ID=f"c{number}")
        opened = transactions.open(transaction_key(request), request, wire, 0.0)
        assert (opened is None) == (number == 2)
    for number in range(3):
        branch = f"SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{number}"
        transactions.ask(invite("BYE", Via=branch), wire, outcome.append, 0.0)
    assert outcome == [None]


def test_an_answer_goes_where_the_request_came_from() -> None:
    request = invite()
    assert note_source(request, ("198.51.100.9", 40_000), datagram=True) == ("198.51.100.9", 40_000)
    assert "received=198.51.100.9" in request.headers.get("via")[0] and "rport=40000" in request.headers.get("via")[0]
    plain = invite(Via="SIP/2.0/UDP 192.0.2.7:5062;branch=z9hG4bKa")
    assert note_source(plain, ("198.51.100.9", 40_000), datagram=True) == ("198.51.100.9", 5062)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x00" * 100,
        b"INVITE sip:x HTTP/1.1\r\n\r\n",
        bytes(invite()).replace(b"CSeq: 1 INVITE", b"CSeq: 1 BYE"),
        bytes(invite()).replace(b"CSeq: 1 INVITE", b"CSeq: x INVITE"),
        bytes(invite()).replace(b"Call-ID: c1", b"Call-ID: " + b"c" * 400),
        bytes(invite()).replace(b"Via:", b"Vie:"),
        b"SIP/2.0 999 Never\r\nVia: SIP/2.0/UDP x;branch=b\r\nCSeq: 1 BYE\r\nCall-ID: c\r\n\r\n",
        bytes(invite()) + bytes(70_000),
    ],
)
def test_an_invalid_message_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        read_message(data)


def shown(
    digest: DigestAuth, password: str, *, at: float = 1000.0, method: str = "INVITE", count: int = 1
) -> SipRequest:
    """An INVITE that answers a challenge of that time."""
    challenge = parse_auth(digest.challenge("192.0.2.7", at))
    credentials = build_credentials(
        SipDigestAuth("kitchen", password), challenge, method, "sip:assistant@192.0.2.1", nonce_count=count
    )
    assert credentials
    return invite(Authorization=stringify_auth(credentials))


def test_credentials_count_once_for_a_minute_from_one_address() -> None:
    digest = DigestAuth(b"k" * 32, "test", {"kitchen": "a-long-password"})
    request = shown(digest, "a-long-password")
    assert digest.check(request, "192.0.2.8", 1001) == (DigestVerdict.NONE, "kitchen")  # another address
    assert digest.check(request, "192.0.2.7", 1062) == (DigestVerdict.NONE, "kitchen")  # too late
    assert digest.check(request, "192.0.2.7", 1001) == (DigestVerdict.RIGHT, "kitchen")
    assert digest.check(request, "192.0.2.7", 1002) == (DigestVerdict.NONE, "kitchen")  # again
    assert digest.check(shown(digest, "a-long-password", count=2), "192.0.2.7", 1002)[0] is DigestVerdict.RIGHT
    assert digest.check(shown(digest, "another-password", count=5), "192.0.2.7", 1001)[0] is DigestVerdict.WRONG
    assert (
        digest.check(shown(digest, "a-long-password", method="BYE", count=3), "192.0.2.7", 1001)[0]
        is DigestVerdict.WRONG
    )
    assert digest.check(invite(), "192.0.2.7", 1001)[0] is DigestVerdict.NONE
    assert digest.check(invite(Authorization="Digest nonce=x,,=,"), "192.0.2.7", 1001)[0] is DigestVerdict.NONE


def test_strangers_are_refused_a_few_times_and_then_get_no_answer() -> None:
    left = [2]

    def may_fail(address: str) -> bool:
        left[0] -= 1
        return left[0] >= 0

    gate = Gate(["192.0.2.0/28"], None, may_fail)
    assert gate.judge(invite(), "192.0.2.7", 0) == Admitted("+15550123456")
    assert [gate.judge(invite(), "198.51.100.1", 0) for _ in range(3)] == [Refused(403), Refused(403), Refused(0)]


def test_the_caller_is_the_asserted_identity_unless_it_is_private() -> None:
    assert caller_of(invite()) == "+15550123456"
    assert caller_of(invite(P_Asserted_Identity="<sip:+15550777@trunk.test>")) == "+15550777"
    assert caller_of(invite(From="<sip:ana@example.test>;tag=1")) == "sip:ana@example.test"
    assert caller_of(invite(Privacy="id")) == "anonymous"


def test_the_answer_accepts_one_stream_and_refuses_the_others() -> None:
    description, plan = read_description(OFFER, ALL)
    assert (plan.codec, plan.payload_type, plan.keys_type, plan.address) == ("PCMU", 0, 110, ("192.0.2.7", 4000))
    answer = write_answer(description, plan, Here("192.0.2.1", 12_000, 5, 5))
    assert "m=audio 12000 RTP/AVP 0 110\r\n" in answer and "m=video 0 RTP/AVP 96\r\n" in answer
    assert "a=sendrecv" in answer
    assert read_description(OFFER, [CodecName.G722])[1].payload_type == 9


@pytest.mark.parametrize(
    ("line", "sends", "receives", "answered"),
    [
        ("a=sendonly", True, False, "recvonly"),
        ("a=recvonly", False, True, "sendonly"),
        ("a=inactive", False, False, "inactive"),
        ("c=IN IP4 0.0.0.0", True, False, "recvonly"),
    ],
)
def test_hold_is_read_from_an_offer(line: str, sends: bool, receives: bool, answered: str) -> None:
    text = OFFER.replace("a=rtpmap:110", f"{line}\na=rtpmap:110")
    description, plan = read_description(text, ALL)
    assert (plan.sends, plan.receives) == (sends, receives)
    assert f"a={answered}" in write_answer(description, plan, Here("192.0.2.1", 12_000, 5, 5))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m=audio x RTP/AVP 0",
        "v=0\n" * 9_000,
        OFFER.replace("RTP/AVP 9", "RTP/SAVP 9"),
        OFFER.replace("9 8 0 110", "18 110"),
        OFFER.replace("c=IN IP4 192.0.2.7", "c=IN IP4 nowhere"),
        OFFER.replace("m=audio", "m=video"),
    ],
)
def test_an_unusable_description_is_refused(text: str) -> None:
    with pytest.raises(BadOffer):
        read_description(text, ALL)


def test_an_offer_of_ours_can_be_read_again() -> None:
    _, plan = read_description(write_offer(ALL, Here("2001:db8::1", 12_000, 1, 1)), [CodecName.OPUS])
    assert (plan.address, plan.clock, plan.keys_type) == (("2001:db8::1", 12_000), 48_000, 101)


def test_a_key_counts_once_for_any_number_of_its_packets() -> None:
    reader = KeyReader()

    def packet(code: int, timestamp: int, ends: bool = False) -> Packet:
        return Packet(101, 0, timestamp, 7, bytes([code, 0x80 if ends else 0, 0, 160]))

    assert [reader.read(packet(5, 1_000)), reader.read(packet(5, 1_000)), reader.read(packet(5, 1_000, True))] == [
        "5",
        None,
        None,
    ]
    assert reader.read(packet(5, 3_000, True)) == "5"  # its beginning was lost
    assert reader.read(packet(99, 5_000)) is None and reader.read(Packet(101, 0, 1, 7, b"")) is None


def test_peers_get_the_address_on_the_way_to_them() -> None:
    assert address_towards("127.0.0.9", "0.0.0.0", "") == "127.0.0.1"
    assert address_towards("198.51.100.1", "0.0.0.0", "203.0.113.5") == "203.0.113.5"
    assert address_towards("198.51.100.1", "192.0.2.1", "") == "192.0.2.1"
