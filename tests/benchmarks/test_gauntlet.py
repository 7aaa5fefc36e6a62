"""The short gauntlet: one provider of each protocol in every happening, judged by what callers hear."""

from __future__ import annotations

import pytest
import uvloop

from benchmarks.gauntlet.__main__ import shown
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
def test_no_happening_causes_four_seconds_of_silence_or_a_lost_or_doubled_answer(
    provider: str, cells: list[Cell]
) -> None:
    of_provider = [cell for cell in cells if cell.provider == provider]
    assert len(of_provider) >= 16, "some happenings were neither tried nor excused"
    wrong = [
        f"{cell.happening}: {shown(cell)} {cell.trouble}\n" + "\n".join(cell.events)
        for cell in of_provider
        if not cell.is_right
    ]
    assert not wrong, "\n".join(wrong)
