"""The ids of items, responses, events and so on: `item_…`, `resp_…`, `event_…`."""

import secrets


def random_id(prefix: str) -> str:
    """Return an id that cannot be guessed, unique among all processes."""
    return f"{prefix}_{secrets.token_hex(10)}"
