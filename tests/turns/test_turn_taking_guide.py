"""The table of reasons in the guide to turn-taking agrees with the server."""

import re
from pathlib import Path

import pytest

from backend.turns.end_of_turn import (
    OWN_PAUSE_IN_ORDER_MS,
    WAIT_MS,
    EndpointingStyle,
    PauseContext,
    Reason,
    end_of_turn_wait,
)

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "turn-taking.md"
ROWS = re.findall(r"^\| ([a-z, -]+) \| (.*) \| (?:up to )?([\d.]+) s \|$", GUIDE.read_text(), re.M)
"""For each row: its reasons, its examples, and its balanced wait in seconds."""
ELSEWHERE = {
    "hesitation": 2500,
    "own pauses": OWN_PAUSE_IN_ORDER_MS,
}
"""Reasons that are not in `WAIT_MS`."""


def test_every_reason_is_in_the_table_with_about_its_wait() -> None:
    listed = {name: float(seconds) * 1000 for names, _, seconds in ROWS for name in names.split(", ")}
    waits = {str(reason): waits[0] for reason, waits in WAIT_MS.items() if reason is not Reason.EAGER} | ELSEWHERE
    assert listed.keys() == waits.keys()
    assert listed == pytest.approx(waits, abs=100)


@pytest.mark.parametrize(("names", "examples"), [(names, said) for names, said, _ in ROWS if names not in ELSEWHERE])
def test_the_examples_have_the_reason_of_their_row(names: str, examples: str) -> None:
    for words in re.findall(r"“(.+?)”", examples):
        verdict = end_of_turn_wait(PauseContext(words=words), EndpointingStyle.BALANCED)
        assert verdict.reason in names.split(", "), words
