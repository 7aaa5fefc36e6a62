"""Decides which API converses and which answers for the Thinkers, and starts the local Responder where it is wanted."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import httpx2

from backend.app.local_responder import LocalResponder
from backend.runtime.json_objects import Json
from backend.settings.settings import Settings

ANY_KEY = "local"
"""What is sent where no key is asked for."""
LISTED_WITHIN_S = 5.0
"""Seconds a local server has to say which models it has."""
LOCAL_NAME = "local Responder"


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """An API's base URL and key."""

    base_url: str
    api_key: str = field(repr=False)

    @property
    def realtime_url(self) -> str:
        """Return the address of its Realtime API, a WebSocket's."""
        return re.sub(r"^http", "ws", self.base_url.rstrip("/")) + "/realtime"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Who answers what."""

    responder: ApiEndpoint
    """The Realtime API."""
    models: ApiEndpoint
    """The chat completions that Thinkers get."""
    about: str
    """What is at work in the Responder: its model, or its recognition, voice and dialogue."""
    most_calls: int = 0
    """Calls that the Responder serves at once; 0: any number."""
    local: LocalResponder | None = None
    """The child process, where the server has started one."""


async def open_endpoints(settings: Settings, stack: AsyncExitStack) -> Endpoints:
    """Return the endpoints; a child process ends with `stack`. Raises `SetupError`.

    Thinkers are answered by the API whose key is set, else by the local Responder, which asks LOCAL_MODEL_URL.
    """
    key = settings.openai_api_key
    openai = ApiEndpoint(settings.openai_base_url, key.get_secret_value()) if key else None
    if openai and not settings.is_local:
        return Endpoints(openai, openai, settings.realtime_model)
    url, child = settings.offline_url, None
    if not url:
        child = LocalResponder(settings)
        stack.push_async_callback(child.close)
        await child.start()
        url = child.url
    local = ApiEndpoint(f"{url}/v1", ANY_KEY)
    entry = await _description(local)
    most = entry.get("calls")
    return Endpoints(local, openai or local, _about(entry), most if isinstance(most, int) else 0, child)


def _about(entry: Json) -> str:
    parts = [str(entry[name]) for name in ("recognition", "voice", "dialogue") if entry.get(name)]
    return ", ".join(parts) or LOCAL_NAME


async def _description(local: ApiEndpoint) -> Json:
    """Return what the local Responder lists as its model: its parts, and how many calls it serves at once.

    Nothing when it does not answer: calls will say so.
    """
    try:
        async with httpx2.AsyncClient(timeout=LISTED_WITHIN_S, trust_env=False) as http:
            entry = (await http.get(f"{local.base_url}/models")).json()["data"][0]
    except (httpx2.HTTPError, ValueError, LookupError, TypeError):
        return {}
    return entry if isinstance(entry, dict) else {}
