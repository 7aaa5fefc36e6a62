"""The price table of Responders: what a model's tokens cost, by their kind."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from backend.errors import SettingsError

PRICES = Path(__file__).parent / "prices.toml"
TokensByKind = Mapping[str, int]
"""Tokens by the names of `ReplyPrice`. The cached ones are among those that were taken in."""


class ReplyPrice(BaseModel):
    """The price of a model, in US dollars for a million tokens of each kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text_in: float = Field(ge=0)
    audio_in: float = Field(ge=0)
    image_in: float = Field(0, ge=0)
    cached_text_in: float = Field(ge=0)
    cached_audio_in: float = Field(ge=0)
    cached_image_in: float = Field(0, ge=0)
    text_out: float = Field(ge=0)
    audio_out: float = Field(ge=0)

    def micro_usd(self, tokens: TokensByKind) -> int:
        """Return what these tokens cost, in millionths of a dollar: a cached one costs its own price only."""
        cost: float = sum(getattr(self, kind) * count for kind, count in tokens.items())
        for kind in ("text_in", "audio_in", "image_in"):
            cost -= getattr(self, kind) * min(tokens.get(f"cached_{kind}", 0), tokens.get(kind, 0))
        return round(cost)


PriceTable = Mapping[str, ReplyPrice]
"""Prices by model."""


def load_prices(path: Path | None = None) -> PriceTable:
    """Return the table of `path`, or the one that comes with the server. Raises `SettingsError`."""
    path = path or PRICES
    try:
        return TypeAdapter(dict[str, ReplyPrice]).validate_python(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingsError(
            f"The price table {path} cannot be used: {error}", hint=f"Copy {PRICES.name} and change its prices."
        ) from None
