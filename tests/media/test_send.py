"""What goes out while somebody speaks, and what does not while nobody does."""

from __future__ import annotations

from backend.media.opus import EMPTY_BYTES, PLAIN_SILENCE_PACKET, OpusDecoder
from backend.media.playout import Playout
from backend.media.send import NOTHING, NOTHING_FOLLOWS, PERIOD, SETTLING, SendPipeline
from tests.support.tones import tone


def outlet(*, pauses: bool = True, repairing: bool = False) -> tuple[Playout, SendPipeline]:
    playout = Playout()
    out = SendPipeline(playout)
    out.pauses = pauses
    if not repairing:
        out.repair(False)
    return playout, out


def sent(out: SendPipeline, slots: int) -> list[bytes]:
    return [out.next() for _ in range(slots)]


def test_who_did_not_ask_for_pauses_is_sent_a_packet_every_time() -> None:
    _, out = outlet(pauses=False)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 200))


def test_while_packets_get_lost_there_are_no_pauses() -> None:
    _, out = outlet(repairing=True)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 200))


def test_after_a_fifth_of_a_second_of_silence_two_packets_in_twenty_one_slots_are_left() -> None:
    _, out = outlet()
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    pause = [NOTHING_FOLLOWS, *[NOTHING] * (PERIOD - 2), PLAIN_SILENCE_PACKET]
    assert sent(out, 3 * PERIOD) == pause * 3


def test_a_voice_ends_a_pause_with_its_first_frame_and_the_next_pause_begins_anew() -> None:
    playout, out = outlet()
    sent(out, SETTLING + 5)
    playout.push("a", tone(440, 40))
    assert all(len(packet) > 20 for packet in sent(out, 2))
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    assert out.next() == NOTHING_FOLLOWS


def test_when_packets_begin_to_get_lost_a_pause_ends() -> None:
    _, out = outlet()
    sent(out, SETTLING + 5)
    out.repair(True)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 100))
    out.repair(False)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    assert out.next() == NOTHING_FOLLOWS


def test_the_next_word_is_decoded_to_the_sample_as_if_there_had_been_no_pause() -> None:
    pausing, sending = outlet(), outlet(pauses=False)
    heard = []
    for playout, out in (pausing, sending):
        decoder, sound = OpusDecoder(), b""
        for _ in range(2):
            playout.push("a", tone(440, 300))
            for packet in sent(out, 15 + SETTLING + 2 * PERIOD + 7):
                sound += decoder.conceal() if packet == NOTHING else decoder.decode(packet)
        heard.append(sound)
    assert heard[0] == heard[1]
