"""The table of Thinkers in the documents comes from their manifests."""

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


def test_the_page_lists_all_thinkers() -> None:
    page = thinkers_table.PAGE.read_text()
    assert thinkers_table.updated(page) == page, "run python -m scripts.thinkers_table"


def test_a_row_has_the_fields_of_its_manifest() -> None:
    *_, row = thinkers_table.table([MOON]).splitlines()
    assert row == ("| `moon` | phases \\| tides | “Is it full?” | `moon_phase`, `tide` | 90 s, for the same user |")
