"""The local Responder: a process beside the server, or the one at OFFLINE_URL."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import httpx2
import msgspec

from backend.extensions.local.child import LocalResponder
from backend.extensions.local.dialogue.chat_model import NO_KEY, base_url
from backend.extensions.local.requirements import check_packages, missing_packages
from backend.extensions.local.settings import LocalSettings, OfflineSettings
from backend.responders.codec import RealtimeCodec
from backend.responders.failover import ResponderInfo
from backend.responders.openai_models import capabilities_of
from backend.responders.opening import ApiEndpoint, OpenedProvider, realtime_provider, voice_of
from backend.responders.realtime import RealtimeEndpoint
from backend.responders.warm_up import WarmUp
from backend.runtime.supervisor import supervising
from backend.settings.settings import Settings

ANY_KEY = "local"
"""The key that is sent if none is needed."""
LISTED_WITHIN_S = 5.0
"""The most seconds that a local server may take to list its models."""
LOCAL_NAME = "local Responder"
LOCAL_SPEEDS = (0.5, 1.5)
"""The lowest and the highest speed at which its voice sounds natural."""


def is_installed() -> bool:
    """Return whether its process can start here."""
    return not missing_packages()


async def open_local(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return the provider. If no process runs, start one, which ends with `stack`. Raises `SetupError`."""
    url = settings.of(OfflineSettings).url or await _started(settings, stack)
    api = ApiEndpoint(f"{url}/v1", ANY_KEY)
    # One client for all requests: another one would load the certificates again, which blocks the event loop.
    http = await stack.enter_async_context(httpx2.AsyncClient(timeout=LISTED_WITHIN_S, trust_env=False))
    entry = await _description(http, api) or _Entry()
    model = capabilities_of(settings.realtime.model)
    capabilities = replace(model, voices=(), speeds=LOCAL_SPEEDS, languages=("English",), images=False)
    endpoint = RealtimeEndpoint(
        api.realtime_url,
        ANY_KEY,
        voice_of(settings, settings.realtime.model),
        settings="the local Responder's log",
        new_codec=partial(RealtimeCodec, capabilities=capabilities),
    )
    parts = ", ".join(filter(None, (entry.recognition, entry.voice, entry.dialogue)))
    about = ResponderInfo(LOCAL_NAME, parts or LOCAL_NAME, offline=True)
    provider = realtime_provider("local", about, endpoint)

    async def loading() -> list[str] | None:
        entry = await _description(http, api)
        return entry.loading if entry else None

    warm_up = WarmUp(loading, entry.loading)
    await stack.enter_async_context(supervising("local Responder's warm-up", warm_up.run))
    local = settings.of(LocalSettings)
    key = local.model_key.get_secret_value() or NO_KEY
    models = ApiEndpoint(base_url(local.model_url), key, local.model or entry.dialogue)
    return OpenedProvider(
        provider,
        models if local.model_url else api,
        most_calls=entry.calls,
        warm_up=warm_up,
        without_model=not local.model_url,
    )


async def share_local(settings: Settings, stack: AsyncExitStack) -> dict[str, str]:
    """Start the one process for all processes of a server; return the environment variable with its address."""
    return {} if settings.of(OfflineSettings).url else {"OFFLINE_URL": await _started(settings, stack)}


async def _started(settings: Settings, stack: AsyncExitStack) -> str:
    """Start the process, which ends with `stack`; return its address. Raises `SetupError`."""
    check_packages()
    child = LocalResponder(settings)
    stack.push_async_callback(child.close)
    await child.start()
    return child.url


class _Entry(msgspec.Struct):
    """The local Responder's description of itself: its parts, its parallel calls, and the engines that still load."""

    recognition: str = ""
    voice: str = ""
    dialogue: str = ""
    calls: int = 0
    loading: list[str] = []


class _Models(msgspec.Struct):
    data: list[_Entry]


async def _description(http: httpx2.AsyncClient, local: ApiEndpoint) -> _Entry | None:
    """Return the local Responder's description of itself; None if it does not answer, which calls will report."""
    try:
        answer = await http.get(f"{local.base_url}/models")
        return msgspec.json.decode(answer.content, type=_Models).data[0]
    except (httpx2.HTTPError, msgspec.MsgspecError, LookupError):
        return None
