"""This module opens the providers of the Responder, and decides which API the Thinkers use."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from backend.agent.context import SourceMode
from backend.app.extensions import Installed
from backend.app.no_provider import open_nothing
from backend.app.openai_provider import open_openai
from backend.errors import SetupError
from backend.extension import OpenProvider
from backend.responders.failover import Providers
from backend.responders.opening import ApiEndpoint, OpenedProvider
from backend.responders.warm_up import WarmUp
from backend.settings.settings import Settings

OWN: Mapping[str, OpenProvider] = {"openai": open_openai}
"""The providers of the core."""
NOTHING = "none"
"""The provider where none is set and none works without a key."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints for the Responder's and the Thinkers' requests."""

    providers: Providers
    """The providers of the Responder, in the operator's order."""
    models: ApiEndpoint
    """The chat completions API of the Thinkers."""
    most_calls: int = 0
    """Calls that the Responder serves in parallel; 0: any number."""
    warm_up: WarmUp | None = None
    """The loading of a Responder on this machine."""
    without_model: frozenset[SourceMode] = frozenset()
    """The source modes in which no language model chooses the Thinker or its tools."""

    @property
    def loading(self) -> list[str]:
        """Return the parts that are being loaded."""
        return self.warm_up.loading if self.warm_up else []


def openai_endpoint(settings: Settings) -> ApiEndpoint | None:
    """Return OpenAI's API, if there is a key for it."""
    key = settings.provider.openai_api_key
    return ApiEndpoint(settings.provider.openai_base_url, key.get_secret_value()) if key else None


async def open_endpoints(settings: Settings, stack: AsyncExitStack, having: Installed) -> Endpoints:
    """Return the endpoints. A child process loads in the background, and ends with `stack`. Raises `SetupError`.

    Thinkers use the API with a key if one is set, otherwise the first provider with a text model.
    """
    names = responder_names(settings, having)
    opened = [await open_named(name, settings, stack, having.responders) for name in names]
    models = openai_endpoint(settings) or next((each.endpoint for each in opened if each.has_models), None)
    if models is None:
        hint = "Set OPENAI_API_KEY, or name a provider that has one in RESPONDERS."
        raise SetupError("The Thinkers have no model.", hint=hint)
    return Endpoints(
        Providers([each.provider for each in opened]),
        models,
        opened[0].most_calls if len(opened) == 1 else 0,
        next((each.warm_up for each in opened if each.warm_up), None),
        _turns_without_model(opened, models),
    )


def responder_names(settings: Settings, having: Installed) -> list[str]:
    """Return the names of the Responder's providers: those that are set, otherwise the one that needs no key."""
    return settings.provider.names or [next((each.fallback for each in having.extensions if each.fallback), NOTHING)]


def _turns_without_model(opened: Sequence[OpenedProvider], models: ApiEndpoint) -> frozenset[SourceMode]:
    spoken = all(each.without_model for each in opened)
    typed = any(each.without_model and each.endpoint is models for each in opened)
    turns: dict[SourceMode, bool] = {"voice": spoken, "chat": typed}
    return frozenset(mode for mode, without in turns.items() if without)


async def open_named(
    name: str, settings: Settings, stack: AsyncExitStack, responders: Mapping[str, OpenProvider]
) -> OpenedProvider:
    """Open the provider of that name. Raises `SetupError`."""
    known = {**OWN, **responders}
    if name == NOTHING:
        return await open_nothing(settings, stack)
    if name not in known:
        raise SetupError(f"There is no provider {name!r}.", hint=f"RESPONDERS may name {', '.join(sorted(known))}.")
    return await known[name](settings, stack)
