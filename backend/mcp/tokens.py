"""Whose token it is: the kind of client that may use it, and the user it acts for.

Only digests are kept, and all of them are compared, each in constant time, so that nothing can be learned from how long
a refusal takes.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from backend.settings.mcp import McpSettings, pairs
from backend.tools.base import Client

TOKEN_LIMIT = 512
"""Characters of a token that are looked at."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who shows a token. `id` names the token without telling it; `user_id` is empty where it acts for nobody."""

    client: Client
    id: str
    user_id: str


class Tokens:
    """The tokens of each kind of client."""

    def __init__(self, settings: McpSettings) -> None:
        each: list[tuple[Client, str, str]] = [
            *(("internal", *pair) for pair in pairs(settings.internal_tokens)),
            *(("copilot", *pair) for pair in pairs(settings.copilot_tokens)),
            *(("external", *pair) for pair in pairs(settings.external_tokens)),
        ]
        self._known = [
            (_digest(token), Bearer(client, _digest(token).hex()[:12], user)) for client, user, token in each
        ]

    def __repr__(self) -> str:
        return f"Tokens({len(self._known)})"

    def configured(self, client: Client) -> bool:
        """Whether this kind of client has any."""
        return any(bearer.client == client for _, bearer in self._known)

    def bearer(self, token: str) -> Bearer | None:
        """Whose it is; None for a stranger's."""
        digest = _digest(token[:TOKEN_LIMIT])
        matches = [bearer for known, bearer in self._known if hmac.compare_digest(known, digest)]
        return matches[0] if matches else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
