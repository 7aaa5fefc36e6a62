"""How strangers are admitted: the access modes (ACCESS), decided once when the server starts. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from backend.access.principal import USER_GRANTS, Grant, Tier
from backend.errors import SetupError
from backend.settings.access import AccessMode
from backend.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Access:
    """How callers without a credential are admitted."""

    modes: frozenset[AccessMode] = frozenset({"open"})
    default_tier: Tier = Tier.ANONYMOUS
    """The tier of a caller on this very machine. OPERATOR where no other machine reaches the server."""

    @property
    def visitor_grants(self) -> frozenset[Grant]:
        """The rights of a visitor who has shown neither a key nor a sign-in."""
        return USER_GRANTS if "open" in self.modes else frozenset()

    def visitor_tier(self, *, here: bool) -> Tier:
        """Return the tier of a visitor: `here` means that the request comes from this very machine."""
        return self.default_tier if here else Tier.ANONYMOUS


def decide_access(settings: Settings, host: str, credentials: Iterable[str] = ()) -> Access:
    """Return how callers of a server that listens on `host`, or is published by a container, are admitted.

    `credentials` are the settings of extensions by which callers would act with the operator's credentials.
    Raises `SetupError` for an open server beyond loopback if its callers would spend the operator's credentials.
    """
    modes, host = frozenset(settings.access.access), settings.server.publish_on or host
    alone = is_loopback(host)
    if (
        "open" in modes
        and not alone
        and not settings.access.access_open_anywhere
        and (names := _credentials(settings, credentials))
    ):
        raise SetupError(
            f"Anyone who can reach {host} could use {', '.join(names)}: ACCESS=open admits everyone.",
            hint="Set ACCESS=key or ACCESS=oidc, listen on 127.0.0.1, or allow it with ACCESS_OPEN_ANYWHERE=true.",
        )
    return Access(modes, Tier.OPERATOR if "open" in modes and alone else Tier.ANONYMOUS)


def access_summary(settings: Settings, host: str, credentials: Iterable[str] = ()) -> str:
    """Return for the operator, in a line, who is admitted."""
    host = settings.server.publish_on or host
    words = {
        "open": "everyone" if not is_loopback(host) else "everyone on this machine",
        "key": "programs with a key",
        "oidc": "users who sign in",
    }
    admitted = " and ".join(words[mode] for mode in settings.access.access)
    warning = (
        "; ACCESS_OPEN_ANYWHERE: even where your keys are spent" if _everywhere(settings, host, credentials) else ""
    )
    return f"{','.join(settings.access.access)}: {admitted}{warning}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _everywhere(settings: Settings, host: str, credentials: Iterable[str]) -> bool:
    return "open" in settings.access.access and not is_loopback(host) and bool(_credentials(settings, credentials))


def _credentials(settings: Settings, further: Iterable[str]) -> list[str]:
    """Return the settings by which callers would act with the operator's credentials, by name."""
    held = {
        "OPENAI_API_KEY": settings.provider.openai_api_key,
        "FINNHUB_API_KEY": settings.services.finnhub_api_key,
        "NEWSAPI_API_KEY": settings.services.newsapi_api_key,
        "BRAVE_API_KEY": settings.services.brave_api_key,
        "MCP__SERVERS": settings.mcp.entries,
    }
    return [*(name for name, value in held.items() if value), *further]
