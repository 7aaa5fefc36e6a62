"""A call without a network: a fake transport, scripted Responders, and Thinkers of the test, in one event loop."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from backend.call.dependencies import CallDependencies, CallerKnowledge
from backend.call.prompts import CallerBackground, brief
from backend.call.voice_call import ServedCall, open_call
from backend.citations import Citation
from backend.errors import VoiceError
from backend.media.endpointing import LocalEndpointing
from backend.media.frame import Frame
from backend.media.segmenter import Segmenter
from backend.models.base import ChatModel
from backend.observability.call_metrics import CallMetrics
from backend.responders.base import Briefing, PastMessage, ResponderFactory
from backend.responders.failover import Provider, Providers, ResponderInfo
from backend.responders.openai_models import capabilities_of
from backend.sessions.event_log import LoggedEvent
from backend.sessions.session import Session, SessionRequest
from backend.settings.settings import load_settings
from backend.storage.memory import MemoryJob
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.responder import ScriptedResponder
from backend.testing.transport import FakeTransport
from backend.thinkers.base import Answer, Manifest
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import ROUTE_TOOL, Thinker, ThinkerRegistry
from backend.thinkers.run import ThinkerDependencies, ThinkerRun
from backend.turns import events as ev
from backend.turns.call_options import CallOptions
from backend.turns.commands import ResponderCommand
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.users.modes import Mode
from backend.users.profile import load_profile, watch_profile
from backend.users.profile_learner import LearnerDependencies
from backend.users.summaries import Summaries
from tests.support.agents import agent, toolbox
from tests.support.tones import audible, tone

Think = Callable[[ThinkerRun], Awaitable[Answer]]
VOICE = tone(300, 20)
TONE = tone(440, 200)
REPLY = "one two three four"


async def think_at_once(run: ThinkerRun) -> Answer:
    """Answer immediately."""
    return Answer(f"About {run.question.query}.", "live", (Citation("a book"),))


def thinkers(**thinks: Think | tuple[Think, dict[str, Any]]) -> ThinkerDispatcher:
    """Return a dispatcher with a Thinker for each name, given with or without fields of its manifest."""
    dependencies = ThinkerDependencies(agent(ScriptedModel()), toolbox(), FakeMemory(), load_settings(_env_file=None))
    given = {domain: think if isinstance(think, tuple) else (think, {}) for domain, think in thinks.items()}
    found = [Thinker(_manifest(domain, **more), think) for domain, (think, more) in given.items()]
    return ThinkerDispatcher(ThinkerRegistry(found, dependencies))


def _manifest(domain: str, **more: Any) -> Manifest:
    return Manifest(
        domain=domain,
        label=domain.title(),
        description=f"questions about {domain}",
        example=f"What about {domain}?",
        prompt="Answer.",
        cache_ttl_s=0,
        **more,
    )


class LoudnessVad:
    """A detector that takes every audible frame for speech."""

    def score(self, frame: Frame) -> float:
        """Return 1 or 0."""
        return float(audible(frame))


def loudness_endpointing() -> LocalEndpointing:
    """Return endpointing without pre-roll and post-roll, with three frames of hangover."""
    return LocalEndpointing(LoudnessVad(), Segmenter(0, 0, 3), 0.5)


@dataclass
class PlacedCall:
    """A running call, and everything around it."""

    session: Session
    transport: FakeTransport
    line: CallDependencies
    responders: list[ScriptedResponder]
    histories: list[list[PastMessage]]
    jobs: list[MemoryJob]
    task: asyncio.Task[str]
    events: list[LoggedEvent] = field(default_factory=list)

    @property
    def responder(self) -> ScriptedResponder:
        """Return the newest connection."""
        return self.responders[-1]

    @property
    def live(self) -> ServedCall:
        """Return the call of the session."""
        assert isinstance(self.session.call, ServedCall)
        return self.session.call

    def events_of(self, type_: str) -> list[dict[str, Any]]:
        """Return the data of every page event of a type."""
        return [event.data for event in self.events if event.type == type_]

    def done(self, kind: type[ResponderCommand]) -> list[Any]:
        """Return the commands of a kind that the newest connection got."""
        return [command for command in self.responder.commands if isinstance(command, kind)]

    async def speak(self, frames: int, *, then_silent: int = 0) -> None:
        """Send frames of the caller's voice, and silence after them."""
        self.transport.feed(*[Frame(VOICE)] * frames, *[Frame(bytes(960))] * then_silent)
        await settle()

    async def ask(self, text: str = "hello", says: str = REPLY, pcm: bytes = TONE) -> None:
        """Type as the caller, and begin the answer of the provider."""
        self.live.type_text(text)
        await self.begin_reply(says, pcm)

    async def begin_reply(self, text: str = REPLY, pcm: bytes = TONE) -> None:
        """Begin the reply to the newest request with words and sound, without its end."""
        request = self.responder.requests[-1].request
        reply = f"r-{request}"
        self.responder.say(ev.ReplyStarted(reply, request), ev.ReplyText(reply, f"i-{request}", text))
        self.responder.say(ev.ReplyAudio(reply, f"i-{request}", pcm))
        await settle()

    async def finish_reply(self) -> None:
        """Finish the reply."""
        self.responder.say(ev.ReplyFinished(f"r-{self.responder.requests[-1].request}", "completed"))
        await settle()

    async def play_out(self, frames: int = 12) -> None:
        """Let time pass for the listener."""
        self.transport.tick(frames)
        await settle()

    async def type_and_answer(self, text: str = "hello") -> None:
        """Type as the caller, and play the whole answer."""
        await self.ask(text)
        await self.finish_reply()
        await self.play_out()

    async def call_thinker(self, domain: str, query: str) -> None:
        """Answer the newest request with the tool call `c1` only."""
        arguments = json.dumps({"domain": domain, "query": query})
        request = self.responder.requests[-1].request
        self.responder.say(ev.ReplyStarted("r1", request), ev.ToolCalled("r1", "c1", ROUTE_TOOL, arguments))
        self.responder.say(ev.ReplyFinished("r1", "completed"))
        await settle()

    async def crashed(self) -> None:
        """Assert that the call ended with an error, showed it, and closed everything."""
        with pytest.raises(ExceptionGroup):
            async with asyncio.timeout(20):
                await self.task
        await settle()
        assert self.events_of("error")[-1]["message"] == "The call failed."
        assert self.transport.closed and (not self.responders or self.responder.closed)
        assert self.ended("error") == 1 and self.session.call is None

    def ended(self, reason: str) -> float | None:
        """Return how many calls were counted with this reason of their end."""
        return self.line.metrics.registry.get_sample_value("voice_sessions_ended_total", {"reason": reason})


async def settle() -> None:
    """Let all tasks run until they wait."""
    for _ in range(60):
        await asyncio.sleep(0)


@asynccontextmanager
async def placed_call(
    *dials: ScriptedResponder | VoiceError | asyncio.Event,
    thinkers: ThinkerDispatcher = thinkers(),  # noqa: B008 - nothing in it changes
    limits: TurnLimits | None = None,
    remembering: FakeMemory | None = None,
    model: ChatModel = ScriptedModel(),  # noqa: B008 - without scenes it only fails
    conversation: str | None = None,
    user: str = "ada",
    interruptions: bool = True,
    transport: Any = None,
    connect: ResponderFactory | None = None,
    **line: Any,
) -> AsyncIterator[PlacedCall]:
    """Run a call. Each dial gives the next of `dials`: a connection, an error, or an event to wait for.

    `transport` replaces the fake one, `connect` replaces the dials.
    """
    responders: list[ScriptedResponder] = []
    histories: list[list[PastMessage]] = []
    jobs: list[MemoryJob] = []
    memory = remembering or FakeMemory()
    coming: Iterator[Any] = iter(dials)

    async def dial(briefing: Briefing, history: Sequence[PastMessage]) -> ScriptedResponder:
        histories.append(list(history))
        next_ = next(coming, None)
        if isinstance(next_, VoiceError):
            raise next_
        if isinstance(next_, asyncio.Event):
            await next_.wait()
        responders.append(next_ if isinstance(next_, ScriptedResponder) else ScriptedResponder())
        return responders[-1]

    async def background(user: str) -> CallerBackground:
        return CallerBackground(await load_profile(memory, user))

    async def earlier(user: str, conversation: str) -> list[Message] | None:
        return None if memory.down else await memory.recent_messages(user, conversation)

    async def answers() -> None:
        """Probe with success."""

    def briefed(caller: CallerBackground, options: CallOptions | None) -> Briefing:
        return brief(thinkers.registry, caller, endpointing="local", options=options)

    about = ResponderInfo("fake", "fake", offline=True)
    whole = CallDependencies(
        providers=Providers([Provider("fake", about, connect or dial, answers, capabilities_of("gpt-realtime-2"))]),
        knowledge=CallerKnowledge(briefed, lambda _profile: Mode(), background, earlier),
        thinkers=thinkers,
        enqueue=jobs.append,
        learning=LearnerDependencies(partial(watch_profile, memory), Summaries(model, "fast", memory)),
        open_endpointing=loudness_endpointing,
        limits=limits or TurnLimits(style=EndpointingStyle.EAGER, idle_nudge_s=0, idle_disconnect_s=0),
        metrics=CallMetrics(manifest.domain for manifest in thinkers.registry.manifests),
    )
    knowledge = {name: line.pop(name) for name in ("brief", "mode", "background", "earlier") if name in line}
    whole = replace(whole, knowledge=replace(whole.knowledge, **knowledge), **line)
    session = Session(SessionRequest(user, conversation, interruptions), "fake")
    carrier = transport or FakeTransport()
    task = asyncio.create_task(open_call(whole, session, carrier).run())
    placed = PlacedCall(session, carrier, whole, responders, histories, jobs, task)
    reading = asyncio.create_task(_read(placed))
    try:
        await settle()
        yield placed
    finally:
        reading.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


async def _read(placed: PlacedCall) -> None:
    async with aclosing(placed.session.event_log.read()) as events:
        async for event in events:
            placed.events.append(event)
