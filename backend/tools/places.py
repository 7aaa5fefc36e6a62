"""Which of several places of the same name is meant. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_STATES = """
al=alabama, ak=alaska, az=arizona, ar=arkansas, ca=california, co=colorado, ct=connecticut, de=delaware, fl=florida,
ga=georgia, hi=hawaii, id=idaho, il=illinois, in=indiana, ia=iowa, ks=kansas, ky=kentucky, la=louisiana, me=maine,
md=maryland, ma=massachusetts, mi=michigan, mn=minnesota, ms=mississippi, mo=missouri, mt=montana, ne=nebraska,
nv=nevada, nh=new hampshire, nj=new jersey, nm=new mexico, ny=new york, nc=north carolina, nd=north dakota, oh=ohio,
ok=oklahoma, or=oregon, pa=pennsylvania, ri=rhode island, sc=south carolina, sd=south dakota, tn=tennessee, tx=texas,
ut=utah, vt=vermont, va=virginia, wa=washington, wv=west virginia, wi=wisconsin, wy=wyoming, dc=district of columbia
"""
US_STATES = dict(pair.strip().split("=") for pair in _STATES.split(","))
COUNTRIES = {"usa": "us", "u.s.": "us", "america": "us", "uk": "gb", "england": "gb", "great britain": "gb"}
"""What people say for an ISO country code."""


def readings(location: str) -> list[tuple[str, tuple[str, ...]]]:
    """Ways to read a spoken place: the name to look up, and what tells it from its namesakes; likeliest first.

    'Paris, TX' → ('Paris', ('tx',)); 'Seattle Washington' → itself, then ('Seattle', ('washington',)).
    """
    name, *qualifiers = (part.strip() for part in location.split(","))
    if qualifiers or not name:
        return [(name or location.strip(), tuple(part.casefold() for part in qualifiers if part))]
    words = name.split()
    cuts = range(len(words) - 1, 0, -1)[:2]
    shorter = [(" ".join(words[:cut]), (" ".join(words[cut:]).casefold(),)) for cut in cuts]
    return [(name, ()), *shorter]


def best_match(places: Sequence[dict[str, Any]], qualifiers: Sequence[str]) -> dict[str, Any] | None:
    """The first place that fits all qualifiers; the service lists the best-known first.

    None when there is none: a namesake elsewhere is not what was asked for.
    """
    return next((place for place in places if all(_fits(place, qualifier) for qualifier in qualifiers)), None)


def _fits(place: dict[str, Any], qualifier: str) -> bool:
    names = {str(place.get(field, "")).casefold() for field in ("admin1", "admin2", "country", "country_code")}
    return bool({qualifier, US_STATES.get(qualifier, ""), COUNTRIES.get(qualifier, "")} & (names - {""}))
