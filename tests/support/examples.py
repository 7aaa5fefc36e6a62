"""The number of random examples for each property: all of them in `make test-all`, a fifth in the check.

The check tries the same examples each time, so that only the checked change can make it fail.
"""

from hypothesis import settings

USUAL = 100
"""Examples of a property without a number of its own."""
FEWEST = 10
settings.register_profile("check", max_examples=USUAL // 5, deadline=None, derandomize=True, database=None)
settings.register_profile("everything", max_examples=USUAL, deadline=None, print_blob=True)


def examples(number: int) -> settings:
    """Return settings with the share of `number` that the active profile asks for."""
    return settings(max_examples=max(FEWEST, number * settings().max_examples // USUAL))
