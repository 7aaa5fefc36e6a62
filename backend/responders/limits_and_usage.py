"""Tokens and rate limits as a Realtime server reports them, read into our types. Pure."""

from __future__ import annotations

import re

from backend.runtime.json_objects import Json
from backend.turns.events import TokenUsage

RATE_LIMITED = "rate_limit_exceeded"
UNNAMED_WAIT_S = 1.0
"""Seconds to wait where the provider names no time."""
_AGAIN_IN = re.compile(r"again in ((?:\d+(?:\.\d+)?(?:ms|[hms])\s*)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[hms])", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class RateLimits:
    """The rate limits of one connection that are used up, as they were last reported."""

    def __init__(self) -> None:
        self._full_in_s: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"RateLimits({self._full_in_s})"

    def update(self, told: list[Json]) -> None:
        """Take the limits of a `rate_limits.updated`."""
        self._full_in_s = {
            str(limit.get("name")): float(limit.get("reset_seconds") or 0.0)
            for limit in told
            if not limit.get("remaining")
        }

    def retry_after_s(self, error: Json) -> float:
        """Return the seconds after which to ask again; 0 if the error is not a rate limit. The message names them
        ("Please try again in 1m2.5s."), or else the limit that is used up.
        """
        if RATE_LIMITED not in (error.get("code"), error.get("type")):
            return 0.0
        if found := _AGAIN_IN.search(str(error.get("message") or "")):
            return sum(float(number) * _UNIT_S[unit.lower()] for number, unit in _PART.findall(found[1]))
        return max(self._full_in_s.values(), default=0.0) or UNNAMED_WAIT_S


def usage_of(usage: Json) -> TokenUsage:
    """Return the tokens of a `response.done` by kind; where only sums are reported, they are text."""
    taken, made = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    cached = taken.get("cached_tokens_details") or {"text_tokens": taken.get("cached_tokens")}
    audio_in, image_in, audio_out = _count(taken, "audio"), _count(taken, "image"), _count(made, "audio")
    return TokenUsage(
        text_in=max(0, int(usage.get("input_tokens") or 0) - audio_in - image_in),
        audio_in=audio_in,
        image_in=image_in,
        cached_text_in=_count(cached, "text"),
        cached_audio_in=_count(cached, "audio"),
        cached_image_in=_count(cached, "image"),
        text_out=max(0, int(usage.get("output_tokens") or 0) - audio_out),
        audio_out=audio_out,
    )


def _count(details: Json, kind: str) -> int:
    return int(details.get(f"{kind}_tokens") or 0)
