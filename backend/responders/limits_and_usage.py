"""Tokens and rate limits as a Realtime server reports them, read into our types. Pure."""

import re

from backend.runtime.json_objects import Json
from backend.turns.events import TokenUsage

RATE_LIMITED = "rate_limit_exceeded"
UNNAMED_WAIT_S = 1.0
"""Seconds to wait where the provider names no time."""
_AGAIN_IN = re.compile(r"again in ((?:\d+(?:\.\d+)?(?:ms|[hms])\s*)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[hms])", re.IGNORECASE)
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after_s(error: Json) -> float:
    """Return the seconds after which to ask again, as the error's message names them; 0 if it is not a rate limit."""
    if RATE_LIMITED not in (error.get("code"), error.get("type")):
        return 0.0
    if found := _AGAIN_IN.search(str(error.get("message") or "")):
        return sum(float(number) * _UNIT_S[unit.lower()] for number, unit in _PART.findall(found[1]))
    return UNNAMED_WAIT_S


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
