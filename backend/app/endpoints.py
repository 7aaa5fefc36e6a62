"""Opens the providers that converse, and decides which API answers for the Thinkers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from backend.app.local_provider import open_local
from backend.app.openai_provider import open_openai
from backend.errors import SetupError
from backend.extension import OpenProvider
from backend.responders.failover import Providers
from backend.responders.opening import ApiEndpoint, OpenedProvider
from backend.responders.warm_up import WarmUp
from backend.settings.settings import Settings

OWN: Mapping[str, OpenProvider] = {"openai": open_openai, "local": open_local}
"""The providers that are no extensions."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Who answers what."""

    providers: Providers
    """The providers of the Responder, in the operator's order."""
    models: ApiEndpoint
    """The chat completions that Thinkers get."""
    most_calls: int = 0
    """Calls that the Responder serves at once; 0: any number."""
    warm_up: WarmUp | None = None
    """What the local Responder still loads, where it is used."""

    @property
    def loading(self) -> list[str]:
        """Return the parts of the local Responder that are being loaded."""
        return self.warm_up.loading if self.warm_up else []


async def open_endpoints(
    settings: Settings, stack: AsyncExitStack, responders: Mapping[str, OpenProvider]
) -> Endpoints:
    """Return the endpoints; a child process ends with `stack`, and loads in the background. Raises `SetupError`.

    `responders` are those of extensions, by name. Thinkers are answered by the API whose key is set, else by the first
    provider that can; the local Responder asks LOCAL_MODEL_URL.
    """
    opened = [await open_named(name, settings, stack, responders) for name in settings.responder_names]
    key = settings.openai_api_key
    openai = ApiEndpoint(settings.openai_base_url, key.get_secret_value()) if key else None
    models = openai or next((each.endpoint for each in opened if each.has_models), None)
    if models is None:
        raise SetupError("The Thinkers have no model.", hint="Set OPENAI_API_KEY, or add local to RESPONDERS.")
    return Endpoints(
        Providers([each.provider for each in opened]),
        models,
        opened[0].most_calls if len(opened) == 1 else 0,
        next((each.warm_up for each in opened if each.warm_up), None),
    )


async def open_named(
    name: str, settings: Settings, stack: AsyncExitStack, responders: Mapping[str, OpenProvider]
) -> OpenedProvider:
    """Open the provider of that name. Raises `SetupError`."""
    known = {**OWN, **responders}
    if name not in known:
        raise SetupError(f"There is no provider {name!r}.", hint=f"RESPONDERS may name {', '.join(sorted(known))}.")
    return await known[name](settings, stack)
