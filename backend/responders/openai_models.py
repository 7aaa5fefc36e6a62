"""The Realtime models of OpenAI, and what servers that speak their protocol can do."""

import re

from backend.responders.base import Capabilities

SESSION_S = 3600.0
"""The seconds after which the provider ends a connection: an hour."""
REASONS = re.compile(r"gpt-realtime-2(\.\d+)?(-mini)?(-\d{4}-\d\d-\d\d)?$")
"""Models that reason: they take an effort, and call several tools in one reply. `gpt-realtime-2025-08-28` is none."""

VOICES = ("marin", "cedar", "alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse")
SPEEDS = (0.25, 1.5)


def capabilities_of(model: str) -> Capabilities:
    """Return the abilities of a model over the Realtime API; for one that is not OpenAI's, those of the protocol."""
    reasons, is_openais = REASONS.match(model) is not None, model.startswith("gpt-realtime")
    return Capabilities(
        endpointers=frozenset({"local", "provider"}),
        truncates=True,
        parallel_calls=reasons,
        images=is_openais,
        reasons=reasons,
        session_s=SESSION_S,
        out_of_band=True,
        caches=is_openais,
        tells_certainty=is_openais,
        voices=VOICES if is_openais else (),
        speeds=SPEEDS if is_openais else None,
    )
