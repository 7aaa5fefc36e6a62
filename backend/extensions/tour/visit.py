"""One call of the tour: typed and spoken questions, and their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import httpx2

from backend.extensions.tour.questions import Step
from backend.media.frame import FRAME_MS
from responder_thinker.signalling import CallRefused, ReceivedEvent, Signalling, Ticket, page_events
from responder_thinker.webrtc import WebRTCCaller

ANSWER_WITHIN_S = 20.0
HEARD_MS = 1_500
"""Milliseconds of an answer that must be heard before the caller goes on, over the rest of it if need be."""
PAUSE_S = 0.5
"""Seconds of quiet between two replies, at least: more than between two of one's sentences."""
LOOK_EVERY_S = 0.02
APOLOGIES = ("I could not", "I am sorry", "I got an answer that I cannot")
"""The beginning of the demonstration's words when it has no news."""
SETTLED = frozenset({"complete", "failed", "stale", "cancelled"})


@dataclass(slots=True)
class Outcome:
    """The outcome of a question. Times are milliseconds since it was typed, or since its recording ended."""

    step: Step
    heard: str = ""
    """What the Responder understood; the question itself when it was typed."""
    domain: str = ""
    """The Thinkers that worked on it; empty when none did."""
    tools: list[str] = field(default_factory=list)
    source: str = ""
    answer: str = ""
    problem: str = ""
    sound_ms: int | None = None
    """The first sound of any reply; None for a typed question, when an earlier answer may still be heard."""
    thinker_ms: int | None = None
    """The Thinker's answer."""
    words_ms: int | None = None
    """The Responder's words for it."""

    @property
    def answered(self) -> bool:
        """Return whether the right Thinker answered."""
        right = self.domain == self.step.domain and not self.problem
        return right and bool(self.answer) and not self.answer.startswith(APOLOGIES)


class Visit:
    """A connected call."""

    def __init__(self, http: httpx2.AsyncClient, ticket: Ticket, caller: WebRTCCaller) -> None:
        self._http = http
        self._ticket = ticket
        self._caller = caller
        self._events: list[tuple[float, ReceivedEvent]] = []

    async def listen(self) -> None:
        """Take note of the session's events, until it ends."""
        async with aclosing(page_events(self._http, self._ticket)) as events:
            async for event in events:
                self._events.append((_now(), event))

    async def ask(self, step: Step, speech: bytes | None = None) -> Outcome:
        """Type the question, or say it as `speech`, and wait for the answer."""
        before = len(self._events)
        if speech is None:
            await self.type(step.question)
        else:
            self._caller.say(speech)
            await self._caller.said()
        outcome, asked_at = Outcome(step, heard=step.question if speech is None else ""), _now()
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                await _until(lambda: self._settled(before) is not None)
                done = self._settled(before) or 0
                await _until(lambda: self._words(done) is not None)
                if speech is not None:
                    await _until(lambda: self._heard_ms(self._events[done][0]) >= HEARD_MS)
                    outcome.sound_ms = _ms(asked_at, self._sounding(asked_at)[0])
        except TimeoutError:
            outcome.problem = f"no answer within {ANSWER_WITHIN_S:g} seconds"
        self._fill(outcome, before, asked_at)
        return outcome

    async def told(self, words: str, within_s: float) -> str | None:
        """Return what the Responder says by itself that holds `words`; None when it does not in time."""
        try:
            async with asyncio.timeout(within_s):
                await _until(lambda: self._said(words) is not None)
        except TimeoutError:
            return None
        return self._said(words)

    def sounded_after(self, since: float) -> float | None:
        """When new sound was first heard after a moment of the loop's clock, later than the speech under way."""
        last = float("-inf")
        for at in self._sounding(float("-inf")):
            if at > since and at - last > PAUSE_S:
                return at
            last = at
        return None

    async def type(self, text: str) -> None:
        """Type something, and wait for nothing. Raises `CallRefused`."""
        url = f"/api/sessions/{self._ticket.session_id}/messages"
        headers = {"Authorization": f"Bearer {self._ticket.token}"}
        response = await self._http.post(url, json={"text": text}, headers=headers)
        if response.is_error:
            raise CallRefused(f"The server answered {response.status_code} to a typed message.")

    def _said(self, words: str) -> str | None:
        for _, event in self._events:
            said = str(event.data.get("content", ""))
            if event.type == "transcript" and event.data.get("role") == "assistant" and words in said:
                return said.strip()
        return None

    def _settled(self, before: int) -> int | None:
        """Return the place among the events at which a Thinker's work ended, after so many events."""
        for at, (_, event) in enumerate(self._events[before:], before):
            if event.type == "thinker" and event.data["event"] in SETTLED:
                return at
        return None

    def _words(self, after: int) -> tuple[float, str] | None:
        """The first whole reply after an event, and when it came."""
        for when, event in self._events[after:]:
            if event.type == "transcript_done" and event.data["role"] == "assistant":
                return when, str(event.data["content"]).strip()
        return None

    def _sounding(self, since: float) -> list[float]:
        return [heard.at for heard in self._caller.received.frames if heard.at > since and heard.audible]

    def _heard_ms(self, since: float) -> int:
        return len(self._sounding(since)) * FRAME_MS

    def _fill(self, outcome: Outcome, before: int, asked_at: float) -> None:
        for _, event in self._events[before:]:
            if event.type == "transcript" and event.data["role"] == "user":
                outcome.heard = event.data["content"]
            if event.type == "thinker":
                outcome.domain = event.data["domain"]
                outcome.source = event.data.get("source", outcome.source)
                outcome.problem = event.data.get("error", outcome.problem)
                self._note_tool(outcome, str(event.data.get("detail", "")))
        if (at := self._settled(before)) is None:
            return
        settled_at = self._events[at][0]
        outcome.thinker_ms = _ms(asked_at, settled_at)
        if words := self._words(at):
            outcome.words_ms, outcome.answer = _ms(asked_at, words[0]), words[1]

    @staticmethod
    def _note_tool(outcome: Outcome, detail: str) -> None:
        """A step that names a tool or a place that was searched."""
        kind, _, what = detail.partition(" ")
        if kind in ("calling", "searched"):
            tool = what.partition(" (")[0]
            if tool not in outcome.tools:
                outcome.tools.append(tool)


@asynccontextmanager
async def visiting(http: httpx2.AsyncClient) -> AsyncIterator[Visit]:
    """A call over WebRTC, hung up at the end. Raises `TransportLost` or `CallRefused`."""
    signalling, caller = Signalling(http), WebRTCCaller()
    try:
        answer, ticket = await signalling.offer(await caller.offer())
        await caller.accept(answer)
        await caller.connected()
        visit = Visit(http, ticket, caller)
        listening = asyncio.create_task(visit.listen(), name="tour events")
        try:
            yield visit
            await signalling.disconnect(ticket)
        finally:
            listening.cancel()
            await asyncio.wait([listening])
    finally:
        await caller.close()


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - it waits for what another process says and plays
        await asyncio.sleep(LOOK_EVERY_S)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _ms(since: float, until: float) -> int:
    return round((until - since) * 1000)
