"""How many random examples a property is tried with: all of them in `make test-all`, a fifth in the check.

The check tries the same ones each time, so that it fails for the change that is checked and for nothing else.
"""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""Examples of a property that names no number."""
FEWEST = 10
settings.register_profile("check", max_examples=USUAL // 5, deadline=None, derandomize=True, database=None)
settings.register_profile("everything", max_examples=USUAL, deadline=None, print_blob=True)


def examples(number: int) -> settings:
    """Return settings with the share of `number` that the profile in force asks for."""
    return settings(max_examples=max(FEWEST, number * settings().max_examples // USUAL))
