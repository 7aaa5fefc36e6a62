"""What a call costs at a provider, and why: a scripted call of twenty turns, billed as OpenAI's Realtime API bills.

    python -m benchmarks.billing                 # twenty turns, about two minutes
    python -m benchmarks.billing --turns 5

A caller speaks to the whole server, whose provider is played by the offline peer. From the peer's log of what went
over the wire each reply is billed: a token for 100 ms of the caller's audio and for 50 ms of the model's, and for four
characters of text. All that is kept is taken in again with each reply; what stands unchanged at its beginning since an
earlier one is cached, from 1024 tokens on, in steps of 128. The same log is billed with a bound on what is kept
(`REALTIME_CONTEXT_TOKENS`), cut turn by turn or to a share of it at once (`REALTIME_RETENTION_RATIO`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from backend.budgets.prices import ReplyPrice, load_prices
from backend.media.frame import milliseconds

MODEL = "gpt-realtime-2"
CACHED_FROM, CACHED_STEP = 1024, 128
USER_MS, ASSISTANT_MS, CHARS = 100, 50, 4
"""Of a token: milliseconds of audio, characters of text."""
BOUND = 800
"""Tokens kept beside the instructions in the second and third bill: little, so that twenty turns come to it."""
DIRECTION_TOKENS = 60
"""Of what a filler is told, about."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Policy:
    """How a conversation that grows too long is cut."""

    name: str
    bound: int = 0
    """Tokens beside the instructions; 0: it is kept whole."""
    ratio: float = 1.0
    """The share of the bound to which it is cut."""


POLICIES = (Policy("kept whole"), Policy("cut turn by turn", BOUND), Policy("cut to 0.8", BOUND, 0.8))


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing in the conversation, and its tokens."""

    id: str
    text: int = 0
    audio: int = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.text + self.audio


@dataclass(slots=True)
class Asked:
    """One reply: what the model was given, and what it made."""

    given: tuple[Kept, ...]
    """The instructions first."""
    text_out: int = 0
    audio_out: int = 0
    sent_ms: int = 0
    """Of the caller's audio, since the reply before."""


@dataclass(slots=True)
class _Reader:
    """Follows one connection's log."""

    head: Kept = Kept("instructions")
    items: dict[str, Kept] = field(default_factory=dict)
    pending_ms: int = 0
    sent_ms: int = 0
    committed_ms: list[int] = field(default_factory=list)
    replies: list[Asked] = field(default_factory=list)
    own_head: Kept | None = None

    def received(self, kind: str, entry: Json) -> None:
        """Take a client event."""
        event = entry.get("event") or {}
        match kind:
            case "session.update":
                session = event["session"]
                self.head = _head(session.get("instructions", ""), session.get("tools", []))
            case "input_audio_buffer.append":
                self.pending_ms += milliseconds(entry["audio_bytes"])
            case "input_audio_buffer.commit":
                self.committed_ms.append(self.pending_ms)
                self._sent()
            case "input_audio_buffer.clear":
                self._sent()
            case "response.create":
                words = (event.get("response") or {}).get("instructions")
                self.own_head = (
                    replace(self.head, id=words, text=self.head.text + len(words) // CHARS) if words else None
                )
            case "conversation.item.truncate" if event["item_id"] in self.items:
                heard = event["audio_end_ms"] // ASSISTANT_MS
                self.items[event["item_id"]] = Kept(f"{event['item_id']} to {heard}", 0, heard)
            case "conversation.item.delete":
                self.items.pop(event["item_id"], None)

    def sent(self, kind: str, entry: Json) -> None:
        """Take a server event."""
        event = entry["event"]
        match kind:
            case "input_audio_buffer.committed":
                ms = self.committed_ms.pop(0) if self.committed_ms else 0
                self.items[event["item_id"]] = Kept(event["item_id"], 0, ms // USER_MS)
            case "conversation.item.done" if event["item"]["id"] not in self.items:
                item = event["item"]
                self.items[item["id"]] = Kept(item["id"], _words(item) // CHARS)
            case "response.created":
                given = (self.own_head or self.head, *self.items.values())
                self.replies.append(Asked(given, sent_ms=self.sent_ms))
                self.sent_ms, self.own_head = 0, None
            case "response.output_audio.delta":
                ms = milliseconds(entry["audio_bytes"])
                known = self.items.get(event["item_id"], Kept(event["item_id"]))
                self.items[event["item_id"]] = replace(known, audio=known.audio + ms // ASSISTANT_MS)
                self.replies[-1].audio_out += ms // ASSISTANT_MS
            case "response.done":
                self.replies[-1].text_out += sum(map(_words, event["response"]["output"])) // CHARS

    def _sent(self) -> None:
        self.sent_ms += self.pending_ms
        self.pending_ms = 0


def replies_of(connection: Json) -> list[Asked]:
    """Return the replies of a connection's log, in order."""
    reader = _Reader()
    entries = [(entry, reader.received) for entry in connection["received"]]
    entries += [(entry, reader.sent) for entry in connection["sent"]]
    for entry, take in sorted(entries, key=lambda each: each[0]["at"]):
        if entry["type"]:
            take(entry["type"], entry)
    return reader.replies


def bills(replies: Sequence[Asked], policy: Policy) -> Iterator[dict[str, int]]:
    """Yield the tokens of each reply by kind, as they are priced."""
    gone: set[str] = set()
    earlier: list[tuple[Kept, ...]] = []
    for reply in replies:
        head, *items = reply.given
        items = [item for item in items if item.id not in gone]
        if policy.bound and sum(item.tokens for item in items) > policy.bound:
            while items and sum(item.tokens for item in items) > policy.bound * policy.ratio:
                gone.add(items.pop(0).id)
        given = (head, *items)
        text, audio = max((cached(before, given) for before in earlier), key=sum, default=(0, 0))
        yield {
            "text_in": sum(each.text for each in given),
            "audio_in": sum(each.audio for each in given),
            "cached_text_in": text,
            "cached_audio_in": audio,
            "text_out": reply.text_out,
            "audio_out": reply.audio_out,
        }
        earlier.append(given)


def cached(before: Sequence[Kept], given: Sequence[Kept]) -> tuple[int, int]:
    """Return how many of the tokens of text and audio stand unchanged at the beginning."""
    same: list[Kept] = []
    for one, other in zip(before, given, strict=False):
        if one != other:
            break
        same.append(one)
    total = sum(each.tokens for each in same)
    left = total - total % CACHED_STEP if total >= CACHED_FROM else 0
    text = audio = 0
    for each in same:
        taken = min(left, each.text)
        text, left = text + taken, left - taken
        taken = min(left, each.audio)
        audio, left = audio + taken, left - taken
    return text, audio


def report(replies: Sequence[Asked], spoken_s: Sequence[float], lasted_s: float) -> list[Table]:
    """Return the tables: the audio, each turn under each policy, and the sums."""
    price = load_prices()[MODEL]
    sent_s = sum(reply.sent_ms for reply in replies) / 1000
    audio = Table("call, s", "spoken, s", "sent, s", "sent of the call", title="Audio sent")
    audio.add_row(f"{lasted_s:.1f}", f"{sum(spoken_s):.1f}", f"{sent_s:.1f}", f"{sent_s / lasted_s:.0%}")
    all_bills = [list(bills(replies, policy)) for policy in POLICIES]
    turns = Table("turn", "sent, s", "out", *(f"{policy.name}: in (cached)" for policy in POLICIES), title="Tokens")
    for number, (reply, *of_turn) in enumerate(zip(replies, *all_bills, strict=True), 1):
        out = str(reply.text_out + reply.audio_out)
        turns.add_row(str(number), f"{reply.sent_ms / 1000:.1f}", out, *map(_in, of_turn))
    sums = Table("", "in", "cached", "out", "$", title=f"The whole call, at the prices of {MODEL}")
    for policy, of_policy in zip(POLICIES, all_bills, strict=True):
        sums.add_row(policy.name, *_sums(of_policy, price))
    remarks = Table("", "$", title="One more reply after the last turn")
    for name, remark in remarks_after(replies[-1]).items():
        [*_, bill] = bills([*replies, remark], POLICIES[0])
        remarks.add_row(name, f"{price.micro_usd(bill) / 1e6:.4f}")
    return [audio, turns, sums, remarks]


def remarks_after(last: Asked) -> dict[str, Asked]:
    """Return a reply like the last one: as an answer, and directed (a filler, a nudge, news) in either place."""
    head, *items = last.given
    return {
        "without a direction": last,
        "directed by a message at the end": replace(last, given=(head, *items, Kept("direction", DIRECTION_TOKENS))),
        "directed by instructions of its own": replace(last, given=(replace(head, id="its own"), *items)),
    }


def _in(bill: dict[str, int]) -> str:
    return f"{bill['text_in'] + bill['audio_in']} ({bill['cached_text_in'] + bill['cached_audio_in']})"


def _sums(of_policy: Sequence[dict[str, int]], price: ReplyPrice) -> tuple[str, ...]:
    total = {kind: sum(bill[kind] for bill in of_policy) for kind in of_policy[0]}
    taken, kept = total["text_in"] + total["audio_in"], total["cached_text_in"] + total["cached_audio_in"]
    made = total["text_out"] + total["audio_out"]
    usd = sum(price.micro_usd(bill) for bill in of_policy) / 1e6
    return str(taken), f"{kept} ({kept / taken:.0%})", str(made), f"{usd:.4f}"


def _head(instructions: str, tools: Any) -> Kept:
    told = instructions + json.dumps(tools)
    return Kept(told, len(told) // CHARS)


def _words(item: Json) -> int:
    """Return the characters of an item's words; those of audio are billed as audio."""
    parts = [part for part in item.get("content") or () if part["type"] in ("input_text", "output_text")]
    return sum(len(part.get("text") or "") for part in parts) + len(item.get("arguments") or item.get("output") or "")


async def run(turns: int) -> list[Table]:
    """Place the call, and return what it comes to."""
    from tests.support.offline_peer import offline_peer
    from tests.support.running_server import placed_call, running_server
    from tests.support.speech import silence, speech

    questions = ["what is the weather in Seattle", "and what will it be like tomorrow evening", "thank you that is all"]
    replies = [
        {"hear": questions[n % 3], "reply": {"text": "It is sunny.", "tone": {"ms": 3000}}} for n in range(turns)
    ]
    async with offline_peer({"turns": replies}) as peer:
        serving = running_server(peer, IDLE_NUDGE_S="0", IDLE_DISCONNECT_S="0", REALTIME_MODEL=MODEL)
        server = await asyncio.to_thread(serving.__enter__)
        try:
            async with placed_call(server, transport="ws") as call:
                now, spoken_s = asyncio.get_running_loop().time, list[float]()
                began = now()
                for number in range(turns):
                    words = await asyncio.to_thread(speech, questions[number % 3])
                    spoken_s.append(milliseconds(len(words)) / 1000)
                    await call.say(silence(500) + words + silence(500))
                    await call.hears_something()
                    await call.hears_nothing_for(1.5)
                lasted_s = now() - began
            [connection] = await peer.connections()
        finally:
            await asyncio.to_thread(serving.__exit__, None, None, None)
    return report(replies_of(connection), spoken_s, lasted_s)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.billing", description=__doc__)
    parser.add_argument("--turns", type=int, default=20, choices=range(1, 61), metavar="1..60")
    for table in asyncio.run(run(parser.parse_args().turns)):
        Console().print(table)


if __name__ == "__main__":
    main()
