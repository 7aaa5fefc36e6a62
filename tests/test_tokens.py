"""Each pair of colours on the page has enough contrast by WCAG 2.2 in both schemes."""

import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[1] / "frontend" / "styles" / "tokens.css"
TEXT, EDGE = 4.5, 3.0
"""The least contrast of text (1.4.3), and of the parts that identify a control or a picture (1.4.11)."""

GROUNDS = ("ground", "panel", "raised")
PAIRS = [
    *((ink, ground, TEXT) for ink in ("ink", "dim") for ground in GROUNDS),
    *((ink, "ground", TEXT) for ink in ("user", "assistant", "good", "warm", "alarm")),
    *((ink, "panel", TEXT) for ink in ("user", "assistant", "good", "warm", "alarm")),
    *(("ink", ground, TEXT) for ground in ("user-ground", "assistant-ground", "warm-ground", "alarm-ground")),
    *((voice, f"{voice}-ground", TEXT) for voice in ("warm", "alarm")),
    *((f"on-{voice}", voice, TEXT) for voice in ("user", "assistant")),
    ("panel", "alarm", TEXT),
    *(("edge", ground, EDGE) for ground in GROUNDS),
    *(("focus", ground, EDGE) for ground in GROUNDS),
    *((mark, "raised", EDGE) for mark in ("good", "alarm", "assistant", "user")),
]


def tokens(scheme: str) -> dict[str, str]:
    """Return the colour tokens of a scheme; light takes missing ones from dark."""
    dark, light = TOKENS.read_text().split("@media (prefers-color-scheme: light)", 1)
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", dark))
    return found | dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", light)) if scheme == "light" else found


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, from 0 to 1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize(("mark", "ground", "least"), PAIRS, ids=lambda part: str(part))
def test_every_pair_of_colours_has_enough_contrast(scheme: str, mark: str, ground: str, least: float) -> None:
    named = tokens(scheme)
    assert contrast(named[mark], named[ground]) >= least


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_colour_of_a_series_has_enough_contrast(scheme: str) -> None:
    named = tokens(scheme)
    for number in range(1, 7):
        for ground in ("ground", "panel"):
            seen = contrast(named[f"series-{number}"], named[ground])
            assert seen >= EDGE, f"series-{number} on {ground}: {seen:.2f}"
