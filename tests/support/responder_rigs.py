"""The providers' modules, each with a strict peer of its own: what the contract of Responders runs on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from backend.errors import ResponderUnavailable
from backend.extensions.gemini.responder import GeminiEndpoint, connect_gemini
from backend.extensions.gpt_live.responder import LiveEndpoint, connect_live
from backend.extensions.qwen.codec import QwenCodec
from backend.extensions.self_hosted.codecs import CODECS
from backend.extensions.self_hosted.scripted import REFUSALS
from backend.extensions.xai.codec import XaiCodec
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from backend.turns import events as ev
from tests.support.offline_peer import OfflinePeer

VOICE = Voice("gpt-realtime-2", "shimmer", "gpt-4o-mini-transcribe")
WITHIN_S = 5.0


@dataclass
class Line:
    """One connection to a strict peer, with everything it has said."""

    responder: Responder
    peer: OfflinePeer
    events: list[ev.Event] = field(default_factory=list)
    failure: ResponderUnavailable | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Keep what the provider says."""

        def keep(event: ev.Event) -> None:
            self.events.append(event)
            self._changed.set()

        try:
            await self.responder.receive_events(keep)
        except ResponderUnavailable as error:
            self.failure = error
            self._changed.set()

    def all(self, kind: type[ev.Event]) -> list[Any]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, found: Callable[[], object]) -> None:
        """Wait until `found` is true, looking after each event."""
        async with asyncio.timeout(WITHIN_S):
            while not found():
                self._changed.clear()
                await self._changed.wait()

    async def refused(self) -> list[str]:
        """What the peer found wrong with anything it was sent: its errors, or the reason why it hung up."""
        logs = await self.peer.connections()
        if closed := [log["closed"] for log in logs if str(log["closed"]).startswith("closed 1007")]:
            return closed
        errors = [entry["event"]["error"] for log in logs for entry in log["sent"] if entry["type"] == "error"]
        return [error["message"] for error in errors if REFUSALS & {error["code"], error["type"]}]

    async def received(self, type_: str) -> list[dict[str, Any]]:
        """The client events of a type that the newest connection brought."""
        log = (await self.peer.connections())[-1]
        return [entry["event"] for entry in log["received"] if entry["type"] == type_]


Connect = Callable[[OfflinePeer, Briefing, Sequence[PastMessage]], Any]


async def openai(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """OpenAI's Realtime API."""
    return await connect_realtime(RealtimeEndpoint(peer.realtime_url, "k", VOICE), briefing, history)


async def xai(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """xAI's voice agent API."""
    voice = Voice("grok-voice-latest", "eve", "", effort="none")
    endpoint = RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=XaiCodec)
    return await connect_realtime(endpoint, briefing, history)


async def qwen(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """Alibaba's Qwen-Omni-Realtime."""
    voice = Voice("qwen3.5-omni-plus-realtime", "Tina", "")
    endpoint = RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=QwenCodec)
    return await connect_realtime(endpoint, briefing, history)


async def gemini(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """Gemini's Live API."""
    return await connect_gemini(GeminiEndpoint(peer.realtime_url, "k", "gemini-3.8-live", "Kore"), briefing, history)


async def gpt_live(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """OpenAI's GPT-Live."""
    return await connect_live(LiveEndpoint(peer.realtime_url, "k", "gpt-live-1", "marin"), briefing, history)


async def speech_to_speech(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """speech-to-speech, run by oneself."""
    return await _self_hosted("speech_to_speech", peer, briefing, history)


async def localai(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """LocalAI, run by oneself."""
    return await _self_hosted("localai", peer, briefing, history)


async def vllm_omni(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    """vLLM-Omni, run by oneself."""
    return await _self_hosted("vllm_omni", peer, briefing, history)


async def _self_hosted(server: str, peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    voice = Voice("ours", "", transcript_model="")
    return await connect_realtime(
        RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=CODECS[server]), briefing, history
    )


PROVIDERS: dict[Connect, tuple[str, ...]] = {
    each: ("--strict", each.__name__)
    for each in (openai, xai, qwen, gemini, gpt_live, speech_to_speech, localai, vllm_omni)
}
"""With the arguments of each one's peer."""


@asynccontextmanager
async def line(
    connect: Connect, peer: OfflinePeer, script: dict[str, Any], briefing: Briefing, *history: PastMessage
) -> AsyncIterator[Line]:
    """A connection to a peer that follows `script`; at the end, nothing it was sent may have been refused."""
    await peer.follow(script)
    made = Line(await connect(peer, briefing, history), peer)
    listening = asyncio.create_task(made.listen())
    try:
        yield made
        assert await made.refused() == []
    finally:
        await made.responder.close()
        await listening
