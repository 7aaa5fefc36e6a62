"""How strangers are admitted: the access modes (ACCESS), decided once when the server starts. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.access.addresses import is_loopback
from backend.access.principal import ToolScope
from backend.errors import SetupError
from backend.settings.access import AccessMode
from backend.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Access:
    """How callers without a credential are admitted."""

    modes: frozenset[AccessMode] = frozenset({"open"})
    scope_here: ToolScope = ToolScope.ANONYMOUS
    """The scope of a visitor on this very machine. OPERATOR where no other machine reaches the server."""


def decide_access(settings: Settings, host: str, credentials: Iterable[str] = ()) -> Access:
    """Return how callers of a server that listens on `host`, or is published by a container, are admitted.

    `credentials` are the settings of extensions by which callers would act with the operator's credentials.
    Raises `SetupError` for an open server beyond loopback if its callers would spend the operator's credentials.
    """
    modes, host = frozenset(settings.access.access), settings.server.publish_on or host
    names = _spent_by_anyone(settings, host, credentials)
    if names and not settings.access.access_open_anywhere:
        raise SetupError(
            f"Anyone who can reach {host} could use {', '.join(names)}: ACCESS=open admits everyone.",
            hint="Set ACCESS=key or ACCESS=oidc, listen on 127.0.0.1, or allow it with ACCESS_OPEN_ANYWHERE=true.",
        )
    return Access(modes, ToolScope.OPERATOR if "open" in modes and is_loopback(host) else ToolScope.ANONYMOUS)


def access_summary(settings: Settings, host: str, credentials: Iterable[str] = ()) -> str:
    """Return a line that tells the operator who is admitted."""
    host = settings.server.publish_on or host
    words = {
        "open": "everyone" if not is_loopback(host) else "everyone on this machine",
        "key": "programs with a key",
        "oidc": "users who sign in",
    }
    admitted = " and ".join(words[mode] for mode in settings.access.access)
    spent = _spent_by_anyone(settings, host, credentials)
    warning = "; ACCESS_OPEN_ANYWHERE: even if they spend your keys" if spent else ""
    return f"{','.join(settings.access.access)}: {admitted}{warning}"


def _spent_by_anyone(settings: Settings, host: str, further: Iterable[str]) -> list[str]:
    """Return the settings with the operator's credentials that everyone who reaches `host` would use."""
    if "open" not in settings.access.access or is_loopback(host):
        return []
    held = {
        "OPENAI_API_KEY": settings.provider.openai_api_key,
        "FINNHUB_API_KEY": settings.services.finnhub_api_key,
        "NEWSAPI_API_KEY": settings.services.newsapi_api_key,
        "BRAVE_API_KEY": settings.services.brave_api_key,
        "MCP__SERVERS": settings.mcp.entries,
    }
    return [*(name for name, value in held.items() if value), *further]
