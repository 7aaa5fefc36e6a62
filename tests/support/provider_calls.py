"""A spoken call in a provider's own protocol: two questions are answered, the first answer interrupted."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from backend.testing.services import open_meteo
from backend.testing.services.server import ApiServer, Reply, Request, serving
from tests.support.first_sound import reply_sounds
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"
STORY: dict[str, Any] = {"text": "A long story " * 20, "tone": {"hz": 400, "to_hz": 2400, "ms": 8000}}
SHORT: dict[str, Any] = {"text": "All right.", "tone": {"hz": 440, "ms": 200}}
SCRIPT = {"turns": [{"hear": QUESTION, "reply": STORY}, {"hear": "stop", "reply": SHORT}]}


def thinking_with(peer: OfflinePeer, meteo_url: str = "http://127.0.0.1:9") -> dict[str, str]:
    """The settings of a server: the peer answers the Thinkers, and the weather comes from that address."""
    return {
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": peer.base_url,
        "OPEN_METEO_FORECAST_URL": f"{meteo_url}/v1/forecast",
        "OPEN_METEO_GEOCODING_URL": f"{meteo_url}/v1/search",
    }


async def ask(call: PlacedCall, words: str) -> None:
    """Say words, after a moment of silence."""
    await call.say(silence(100) + speech(words))


@asynccontextmanager
async def slow_weather() -> AsyncIterator[tuple[ApiServer, asyncio.Event]]:
    """A weather service that answers once the event is set."""
    gate = asyncio.Event()

    async def slowly(request: Request) -> Reply:
        await gate.wait()
        return open_meteo.answering(request)

    async with serving(slowly) as meteo:
        yield meteo, gate


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The results of such a call."""

    call: PlacedCall
    heard: str
    """The heard words of the first answer."""
    log: dict[str, Any]
    """The peer's log of the connection."""

    @property
    def received(self) -> list[dict[str, Any]]:
        """The provider's incoming messages."""
        return [entry["event"] for entry in self.log["received"]]

    @property
    def errors(self) -> set[str]:
        """The codes of the errors that the provider has sent."""
        return {entry["event"]["error"]["code"] for entry in self.log["sent"] if entry["type"] == "error"}


async def interrupted_call(provider: str, settings: Callable[[OfflinePeer], Mapping[str, str]]) -> Interrupted:
    """Place the call over `settings` for a peer that accepts only the schema of `provider`."""
    async with offline_peer(SCRIPT, "--strict", provider) as peer:
        with running_server(None, **{"RESPONDERS": provider, "OPENAI_API_KEY": "k", **settings(peer)}) as server:
            async with placed_call(server) as call:
                await ask(call, QUESTION)
                await reply_sounds(call)
                await asyncio.sleep(1.5)  # an earlier interruption would have heard too little of it
                await ask(call, "stop, that is enough")
                await until(lambda: any(data["heard"] for data in call.events_of("transcript_interrupted")))
                await call.event("transcript", content="All right.")
                await call.event("audio_playback_finished")
        log = (await peer.connections())[-1]
    heard = next(data["heard"] for data in call.events_of("transcript_interrupted") if data["heard"])
    assert STORY["text"].startswith(heard)
    return Interrupted(call, heard, log)
