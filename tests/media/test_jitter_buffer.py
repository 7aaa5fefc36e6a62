"""The jitter buffer: order, loss, wraparound, restarts. Packets are 20 ms of wide-band SILK by default."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.media.jitter_buffer import MAX_GAP, Delivery, JitterBuffer, Lost, Received, Silence, packet_samples
from tests.support.examples import examples

TWENTY_MS = 960
TOC_20_MS = b"\x48"  # configuration 9, one frame
TOC_60_MS = b"\x58"  # configuration 11, one frame


@pytest.fixture
def buffer() -> JitterBuffer:
    return JitterBuffer()


def packet(number: int, toc: bytes = TOC_20_MS) -> bytes:
    return toc + number.to_bytes(4, "big")


def push(buffer: JitterBuffer, number: int, now: float = 0.0, *, sequence: int = 0, timestamp: int = 0) -> list[int]:
    """Push packet `number` of a stream that began at `sequence` and `timestamp`; return the `numbers` that came out."""
    return numbers(
        buffer.push((sequence + number) & 0xFFFF, (timestamp + number * TWENTY_MS) & 0xFFFFFFFF, packet(number), now)
    )


def numbers(deliveries: list[Delivery]) -> list[int]:
    """Return received packets by number, lost ones as -1, silence as -2."""
    out = []
    for delivery in deliveries:
        match delivery:
            case Received(payload):
                out.append(int.from_bytes(payload[1:5], "big"))
            case Lost():
                out.append(-1)
            case Silence():
                out.append(-2)
    return out


def test_a_missing_packet_is_lost_when_enough_media_is_held() -> None:
    buffer = JitterBuffer(max_wait_ms=60)
    assert [push(buffer, n) for n in (0, 2, 3, 4)] == [[0], [], [], [-1, 2, 3, 4]]


def test_a_missing_packet_is_lost_after_a_time_limit() -> None:
    buffer = JitterBuffer(max_wait_ms=60)
    push(buffer, 0, 10.0)
    push(buffer, 2, 10.04)
    assert buffer.deadline() == pytest.approx(10.10)
    assert numbers(buffer.expire(10.09)) == []
    assert numbers(buffer.expire(10.10)) == [-1, 2]
    assert buffer.deadline() is None


def test_a_lost_packet_is_as_long_as_its_neighbours() -> None:
    buffer = JitterBuffer(max_wait_ms=60)
    buffer.push(0, 0, packet(0, TOC_60_MS), 0.0)
    assert buffer.push(2, 5760, packet(2, TOC_60_MS), 0.0) == [Lost(2880), Received(packet(2, TOC_60_MS))]


def test_a_packet_that_was_declared_lost_is_dropped_as_late(buffer: JitterBuffer) -> None:
    for n in (0, 2, 3, 4):
        push(buffer, n)
    assert push(buffer, 1) == []


def test_duplicates_of_held_and_delivered_packets_are_dropped(buffer: JitterBuffer) -> None:
    push(buffer, 0)
    assert push(buffer, 0) == []
    push(buffer, 2)
    assert push(buffer, 2) == []
    assert push(buffer, 1) == [1, 2]


def test_a_jump_of_only_the_timestamp_is_silence(buffer: JitterBuffer) -> None:
    push(buffer, 0)
    assert buffer.push(1, TWENTY_MS + 4800, packet(1), 0.1) == [Silence(4800), Received(packet(1))]
    assert buffer.push(2, 2 * TWENTY_MS + 4800, packet(2), 0.1) == [Received(packet(2))]


def test_a_long_pause_is_reported_as_one_second(buffer: JitterBuffer) -> None:
    push(buffer, 0)
    assert buffer.push(1, 48_000 * 30, packet(1), 30.0) == [Silence(48_000), Received(packet(1))]


def test_a_pause_around_a_loss_is_silence_after_the_loss() -> None:
    buffer = JitterBuffer(max_wait_ms=20)
    push(buffer, 0)
    out = buffer.push(2, 2 * TWENTY_MS + 9600, packet(2), 0.0)
    assert out == [Lost(TWENTY_MS), Silence(9600), Received(packet(2))]


def test_a_restarted_sender_is_followed_immediately(buffer: JitterBuffer) -> None:
    push(buffer, 0)
    push(buffer, 2)
    out = buffer.push(40_000, 7, packet(9), 0.0)
    assert numbers(out) == [-1, 2, 9]
    assert numbers(buffer.push(40_001, 7 + TWENTY_MS, packet(10), 0.0)) == [10]


def test_a_stall_within_the_longest_gap_reports_every_loss() -> None:
    buffer = JitterBuffer(max_wait_ms=20)
    push(buffer, 0)
    assert push(buffer, MAX_GAP) == [-1] * (MAX_GAP - 1) + [MAX_GAP]


def test_an_empty_packet_is_delivered_in_order(buffer: JitterBuffer) -> None:
    push(buffer, 0)
    assert buffer.push(1, TWENTY_MS, b"", 0.0) == [Received(b"")]
    assert push(buffer, 2) == [-2, 2]


@pytest.mark.parametrize(
    ("payload", "samples"),
    [
        (b"", 0),
        (b"\x00", 480),
        (b"\x18", 2880),
        (b"\x48", 960),
        (b"\x68", 960),
        (b"\x80", 120),
        (b"\xf8\xff\xfe", 960),
        (b"\xf9", 1920),
        (b"\xfa", 1920),
        (b"\xfb", 0),
        (b"\xfb\x03", 2880),
    ],
)
def test_the_length_of_a_packet_is_read_from_its_first_bytes(payload: bytes, samples: int) -> None:
    assert packet_samples(payload) == samples


@given(st.integers(0, 2**32), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF), st.integers(10, 150))
@examples(200)
def test_each_packet_is_reported_once_and_in_order_on_any_network(
    seed: int, sequence: int, timestamp: int, count: int
) -> None:
    generator = random.Random(seed)
    buffer = JitterBuffer(max_wait_ms=60)
    arrivals = [(0, 0.0)]  # counting begins with the first packet
    for n in range(1, count):
        copies = generator.choices((0, 1, 2), weights=(10, 85, 5))[0]
        arrivals += [(n, n * 0.02 + generator.choice((0, 0, 0, 0.03, 0.09))) for _ in range(copies)]
    arrivals.sort(key=lambda arrival: arrival[1])
    out: list[int] = []
    for n, now in arrivals:
        out += numbers(buffer.expire(now))
        out += push(buffer, n, now, sequence=sequence, timestamp=timestamp)
        assert (deadline := buffer.deadline()) is None or deadline <= now + 0.06 + 1e-9
    out += numbers(buffer.expire(1e9))
    assert buffer.deadline() is None
    assert -2 not in out  # no loss was taken for a pause
    assert [n for n in out if n >= 0] == [place for place, n in enumerate(out) if n >= 0]
    assert len(out) == max(n for n, _ in arrivals) + 1
    assert out.count(-1) == buffer.lost


@given(st.integers(0, 2**32), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF))
def test_a_packet_that_bypasses_the_buffer_counts_like_a_pushed_one(seed: int, sequence: int, timestamp: int) -> None:
    generator = random.Random(seed)
    quick, slow = JitterBuffer(), JitterBuffer()
    passed = 0
    for n in sorted(range(60), key=lambda n: n + 2 * generator.random()):
        if generator.random() < 0.1:
            continue
        number, at = (sequence + n) & 0xFFFF, (timestamp + n * TWENTY_MS) & 0xFFFFFFFF
        expected = slow.push(number, at, packet(n), n * 0.02)
        if quick.pass_on(number, at, packet(n)):
            passed += 1
            assert expected == [Received(packet(n))]
        else:
            assert quick.push(number, at, packet(n), n * 0.02) == expected
        assert (quick.lost, quick.held, quick.deadline()) == (slow.lost, slow.held, slow.deadline())
    assert passed


@given(st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF), st.binary(max_size=4)), max_size=60))
def test_hostile_packets_never_grow_the_buffer(packets: list[tuple[int, int, bytes]]) -> None:
    buffer = JitterBuffer()
    for place, (sequence, timestamp, payload) in enumerate(packets):
        out = buffer.push(sequence, timestamp, payload, place * 0.02)
        out += buffer.expire(place * 0.02)
        assert len(out) <= 4 * MAX_GAP
    buffer.expire(1e9)
    assert buffer.deadline() is None
