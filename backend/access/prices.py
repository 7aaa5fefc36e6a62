"""The price table: what a model's tokens cost, by their kind."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from backend.settings.budgets import ModelPrice

PRICES = Path(__file__).parent / "prices.toml"


def price_table(own: Mapping[str, ModelPrice]) -> Mapping[str, ModelPrice]:
    """Return the prices by model: those that come with the server, and the operator's `own` in their place."""
    listed = TypeAdapter(dict[str, ModelPrice]).validate_python(tomllib.loads(PRICES.read_text()))
    return {**listed, **own}
