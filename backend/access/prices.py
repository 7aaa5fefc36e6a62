"""The price table says what the tokens of each model cost, by kind of token."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from backend.settings.budgets import ModelPrice

PRICES = Path(__file__).parent / "prices.toml"


def price_table(own: Mapping[str, ModelPrice]) -> Mapping[str, ModelPrice]:
    """Return the price of each model: those that come with the server, overridden by the operator's `own`."""
    listed = TypeAdapter(dict[str, ModelPrice]).validate_python(tomllib.loads(PRICES.read_text()))
    return {**listed, **own}
