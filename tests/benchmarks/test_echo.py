"""The benchmark of echo counts what happens: one scene of each part."""

from __future__ import annotations

import pytest

pytest.importorskip("pywebrtc_audio")

from benchmarks.echo import Scenes, show


@pytest.mark.slow
def test_each_part_counts_its_scene() -> None:
    scenes = Scenes(1, verbose=True)
    for part in (scenes.echo_alone, scenes.over_an_echo, scenes.no_echo, scenes.silent_caller, scenes.soon_after):
        part()
    results = scenes.results
    assert (results.replies, results.over, results.clear, results.found) == (2, 1, 1, 1)
    assert results.interrupted == results.falsely == results.touched == 0
    assert results.soon["tone"] > 0 and results.soon_falsely["tone"] == 0
    assert 0 < results.cost_without[0] < results.cost_with[0]
    assert show(results).row_count == 13
