"""The limits of the project's size: a commit that raises one says what was removed instead.

The goals are a core of 53,000 lines, 76,000 lines in all that ships, 6,000 in the local Responder, 64,000 of tests, and
no class of more than 20 fields.
"""

from pathlib import Path

import pytest

from scripts.structure import sizes_of

MOST = {
    "lines of Python: core": 53_000,
    "lines of Python: all that ships": 76_000,
    "lines of Python: the local Responder": 6_000,
    "lines of Python: benchmarks": 8_000,
    "lines of Python: tests": 64_000,
    "required packages": 31,
    "fields of the largest class": 20,
    "words of the documents": 46_500,
}


@pytest.mark.parametrize("figure", MOST)
def test_a_figure_stays_within_its_limit(figure: str, figures: dict[str, str]) -> None:
    assert int(figures[figure].replace(",", "")) <= MOST[figure]


@pytest.fixture(scope="module")
def figures() -> dict[str, str]:
    """Return the figures of this checkout."""
    return sizes_of(Path(__file__).resolve().parent.parent)
