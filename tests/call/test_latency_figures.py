"""Time to first sound and time to the answer are the same on the page and in metrics, traces and ledger."""

import asyncio
from typing import Any, cast

from backend.storage.ledger.entries import Entry
from backend.storage.ledger.ledger import Ledger
from backend.testing.tracer import FakeTracer
from backend.thinkers.base import Answer
from backend.thinkers.run import ThinkerRun
from backend.turns import events as ev
from tests.call.world import PlacedCall, placed_call, settle, thinkers
from tests.support.waiting import until

SOUND = bytes(4800)


class KeptEntries:
    """A ledger that keeps its entries in a list."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def write(self, *entries: Entry) -> None:
        self.entries += entries


def spoken(call: PlacedCall, reply: str, item: str, text: str, *more: ev.ResponderEvent) -> None:
    """Answer the newest request with words, a sound, and further events."""
    request = call.responder.requests[-1].request
    call.responder.say(
        ev.ReplyStarted(reply, request), ev.ReplyText(reply, item, text), ev.ReplyAudio(reply, item, SOUND), *more,
        ev.ReplyFinished(reply, "completed"),
    )  # fmt: skip


def sum_of(call: PlacedCall, leg: str) -> float:
    registry = call.line.metrics.registry
    return round((registry.get_sample_value("voice_turn_leg_seconds_sum", {"leg": leg}) or 0) * 1000)


async def test_both_times_are_the_same_on_the_page_and_in_metrics_traces_and_ledger() -> None:
    known = asyncio.Event()

    async def think(_: ThinkerRun) -> Answer:
        await known.wait()
        return Answer("White wins.", "model")

    tracer, ledger = FakeTracer(), KeptEntries()
    line: dict[str, Any] = {"tracer": tracer, "ledger": cast(Ledger, ledger)}
    async with placed_call(thinkers=thinkers(chess=think), **line) as call:
        call.live.type_text("Who wins?")
        arguments = '{"domain": "chess", "query": "who wins"}'
        spoken(call, "r1", "i1", "Let me check.", ev.ToolCalled("r1", "c1", "route_to_thinker", arguments))
        await settle()
        call.transport.tick(12)
        await settle()
        await asyncio.sleep(0.06)
        known.set()
        await until(lambda: len(call.responder.requests) == 2)
        spoken(call, "r2", "i2", "White does.")
        await settle()
        call.transport.tick(12)
        await settle()
        [turn], [answer] = call.events_of("turn_metrics"), call.events_of("answer_metrics")
        figures = {"first_sound_ms": turn["first_sound_ms"], "answer_ms": answer["answer_ms"]}
        assert figures["answer_ms"] >= figures["first_sound_ms"] + 50, "the preamble was taken for the answer"
        assert sum_of(call, "first_sound") == figures["first_sound_ms"]
        assert sum_of(call, "answer") == figures["answer_ms"]
        medians = call.line.metrics.recent.turns().legs
        assert (medians["first_sound"].p50_ms, medians["answer"].p50_ms) == tuple(figures.values())
    said = [entry for entry in ledger.entries if entry.role == "assistant"]
    assert [entry.details for entry in said] == [
        {"first_sound_ms": figures["first_sound_ms"]},
        {"answer_ms": figures["answer_ms"]},
    ]
    [span] = [span for span in tracer.spans if "answer_ms" in span.facts]
    assert {name: span.facts[name] for name in figures} == figures
