"""An opened provider of the Responder, and the facts that the server needs about it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pydantic import SecretStr

from backend.errors import SetupError
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import RealtimeCodec, Voice
from backend.responders.failover import Provider, ResponderInfo
from backend.responders.realtime import RealtimeEndpoint, connect_realtime, probe_realtime
from backend.responders.warm_up import WarmUp
from backend.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """An API's base URL and key."""

    base_url: str
    api_key: str = field(repr=False)
    model: str = ""
    """The only model of the API, which replaces the requested one; empty: the models of the settings."""

    @property
    def realtime_url(self) -> str:
        """Return the WebSocket address of the Realtime API."""
        return re.sub(r"^http", "ws", self.base_url.rstrip("/")) + "/realtime"


@dataclass(frozen=True, slots=True)
class OpenedProvider:
    """A provider that can be called."""

    provider: Provider
    endpoint: ApiEndpoint
    """The provider's API, which may also offer chat completions for the Thinkers."""
    has_models: bool = True
    """True if the Thinkers can use the provider's models with its key."""
    most_calls: int = 0
    """The most calls that it serves at the same time; 0: any number."""
    without_model: bool = False
    """True if the provider has no language model: routing and tool calls are decided in other ways."""
    warm_up: WarmUp | None = None
    """The parts that the provider is still loading, if any."""


def required_key(provider: str, key: SecretStr | None, variable: str) -> str:
    """Return the key of a provider. Raises `SetupError` where there is none."""
    if key and key.get_secret_value():
        return key.get_secret_value()
    raise SetupError(f"The Responder {provider} needs a key.", hint=f"Set {variable}, or leave {provider} out.")


def compatible_provider(
    name: str, title: str, api: ApiEndpoint, voice: Voice, new_codec: Callable[[Voice], RealtimeCodec]
) -> OpenedProvider:
    """Return a provider of a variant of OpenAI's events, which serves no Thinkers: other settings name their models."""
    settings = f"the settings {name.upper()}__*"
    endpoint = RealtimeEndpoint(api.realtime_url, api.api_key, voice, settings=settings, new_codec=new_codec)
    about = ResponderInfo(title, voice.model, offline=False)
    return OpenedProvider(realtime_provider(name, about, endpoint, f" at {api.base_url}"), api, has_models=False)


def voice_of(settings: Settings, model: str) -> Voice:
    """Return the model and voice of the settings, with `model` in place of theirs."""
    return Voice(
        model,
        settings.realtime.voice,
        settings.provider.transcript_model,
        effort=settings.realtime.effort,
        noise_reduction=settings.realtime.noise_reduction,
        language=settings.realtime.language,
        speed=settings.realtime.speed,
    )


def realtime_provider(name: str, about: ResponderInfo, endpoint: RealtimeEndpoint, at: str = "") -> Provider:
    """Return a provider that speaks the Realtime API."""

    async def connect(briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        return await connect_realtime(endpoint, briefing, history)

    return Provider(
        name, about, connect, partial(probe_realtime, endpoint), endpoint.capabilities, at, endpoint.voice.name
    )
