"""The server that others are compared with takes calls, plays to them and costs something."""

from __future__ import annotations

import math

from benchmarks.processes import Cores
from benchmarks.stock import stock


def test_a_call_by_aiortc_as_it_comes_is_measured() -> None:
    cpu_ms, core_percent, gaps_percent, mb = stock(1, 2.0, Cores.available(), seed=1)
    assert 0 < cpu_ms < 1000 and 0 < core_percent <= 100
    assert 0 <= gaps_percent < 100
    assert math.isfinite(mb)
