"""The gauntlet in its short form: one provider of each protocol, through everything, by what real callers hear."""

from __future__ import annotations

import pytest
import uvloop

from benchmarks.gauntlet.__main__ import told
from benchmarks.gauntlet.cells import Cell
from benchmarks.gauntlet.happenings import HAPPENINGS
from benchmarks.gauntlet.providers import PROVIDERS, SHORT
from benchmarks.gauntlet.run import run_gauntlet

pytestmark = [pytest.mark.alone, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    providers = [each for each in PROVIDERS if each.name in SHORT]
    return uvloop.run(run_gauntlet(providers, HAPPENINGS, short=True))


@pytest.mark.parametrize("provider", SHORT)
def test_whatever_happens_nobody_hears_four_seconds_of_silence_and_no_answer_is_lost_or_doubled(
    provider: str, cells: list[Cell]
) -> None:
    of_provider = [cell for cell in cells if cell.provider == provider]
    assert len(of_provider) >= 16, "each happening was tried, or it is said why it cannot be"
    wrong = [
        f"{cell.happening}: {told(cell)} {cell.trouble}\n" + "\n".join(cell.told)
        for cell in of_provider
        if not cell.is_right
    ]
    assert not wrong, "\n".join(wrong)
