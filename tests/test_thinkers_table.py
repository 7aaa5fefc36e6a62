"""The table of Thinkers in the docs comes from their manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.thinkers.base import Manifest
from scripts import thinkers_table

MOON = Manifest(
    domain="moon",
    label="Moon",
    description="phases | tides",
    example="Is it full?",
    prompt="You know the moon.",
    tools=("moon_phase", "tide"),
    cache_ttl_s=90,
    cache_scope="user",
)


def test_the_page_shows_the_thinkers_there_are() -> None:
    page = thinkers_table.PAGE.read_text()
    assert thinkers_table.updated(page) == page, "run python -m scripts.thinkers_table"


def test_a_row_says_what_the_manifest_says() -> None:
    *_, row = thinkers_table.table([MOON]).splitlines()
    assert row == ("| `moon` | phases \\| tides | “Is it full?” | `moon_phase`, `tide` | 90 s, for the same user |")


def test_an_old_table_is_reported_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "thinkers.md"
    page.write_text("before\n<!-- thinkers:begin -->\nstale\n<!-- thinkers:end -->\nafter\n")
    monkeypatch.setattr(thinkers_table, "PAGE", page)
    assert thinkers_table.main(["--check"]) == 1
    assert thinkers_table.main([]) == 0
    assert thinkers_table.main(["--check"]) == 0
    assert "stale" not in page.read_text()
    assert page.read_text().startswith("before\n")


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="thinkers:begin"):
        thinkers_table.updated("no marks")
