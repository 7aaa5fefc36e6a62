"""The tools a caller reaches: part of the principal that travels with the caller's work, into tasks as well."""

from __future__ import annotations

from dataclasses import dataclass

from backend.access.principal import Principal, Tier


@dataclass(frozen=True, slots=True)
class Reach:
    """The tools a caller reaches: those of the tier, or those that the operator's token names, and no others."""

    tier: Tier = Tier.ANONYMOUS
    tools: frozenset[str] | None = None
    """Names of tools; None: every tool of the tier and of those below."""

    @classmethod
    def of(cls, principal: Principal) -> Reach:
        """Return what the principal reaches."""
        return cls(principal.tier, principal.tools)


PUBLIC = Reach()
"""What an unknown caller reaches: public tools only."""
EVERYTHING = Reach(Tier.OPERATOR)
"""What the operator's own work reaches."""
