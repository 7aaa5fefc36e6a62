"""The static tokens of programs (`MCP__…_TOKENS`), and what each kind grants: principals like any other.

A token that one of API_KEYS signed may grant the same. It is the better kind for a program: it ends by itself, and
names its user. A static token may be bound to a user (`user:token`); only one of the server's own programs that
is bound to nobody may name a user with each request. Digests alone are kept, and all of them are compared in constant
time, so that the duration of a refusal reveals nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from backend.access.principal import Grant, Principal, Tier
from backend.settings.mcp import McpSettings, pairs

KINDS: Mapping[str, tuple[Tier, frozenset[Grant]]] = {
    "internal": (Tier.OPERATOR, frozenset({Grant.MCP, Grant.NOTIFY, Grant.ON_BEHALF})),
    "copilot": (Tier.OPERATOR, frozenset({Grant.MCP_COPILOT})),
    "external": (Tier.ANONYMOUS, frozenset({Grant.MCP_EXTERNAL})),
}
"""Kind of token (`MCP__{KIND}_TOKENS`) → its tier and grants."""
TOKEN_LIMIT = 512
"""Characters of a token that are read."""


class StaticTokens:
    """The tokens in the settings."""

    def __init__(self, settings: McpSettings) -> None:
        self._known = [
            (_digest(token), kind, user) for kind in KINDS for user, token in pairs(getattr(settings, f"{kind}_tokens"))
        ]

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._known)})"

    def principal(self, token: str, address: str) -> Principal | None:
        """Return the principal of the program that shows `token`; None for an unknown one."""
        digest = _digest(token[:TOKEN_LIMIT])
        matches = [each for each in self._known if hmac.compare_digest(each[0], digest)]
        if not matches:
            return None
        _, kind, user = matches[0]
        tier, grants = KINDS[kind]
        if user:
            grants -= {Grant.ON_BEHALF}
        return Principal(user, tier, grants, None, address, f"key mcp-{digest.hex()[:12]}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
