"""Settings of budgets (`BUDGETS__…`): what callers may use up in a day (UTC) and in parallel; 0: no limit."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import NoDecode

from backend.settings.plugin import PluginSettings


class DayBudget(BaseModel):
    """The budget of one day; 0: no limit."""

    model_tokens: int = Field(default=0, ge=0, description="Model tokens a day.")
    voice_minutes: float = Field(default=0, ge=0, description="Minutes of voice calls a day.")
    tasks: int = Field(default=0, ge=0, description="Background tasks a day.")
    kept_kilobytes: int = Field(default=0, ge=0, description="Kilobytes that are written and kept in a day.")
    usd: float = Field(default=0, ge=0, description="US dollars a day, by the prices of models.")


class ModelPrice(BaseModel):
    """The price of a model, in US dollars for a million tokens of each kind.

    A kind without a price costs as much as text in its direction, and a cached kind as much as the uncached one, so
    that a limit in dollars counts every token.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text_in: float = Field(ge=0)
    audio_in: float | None = Field(default=None, ge=0)
    image_in: float | None = Field(default=None, ge=0)
    cached_text_in: float | None = Field(default=None, ge=0)
    cached_audio_in: float | None = Field(default=None, ge=0)
    cached_image_in: float | None = Field(default=None, ge=0)
    text_out: float = Field(ge=0)
    audio_out: float | None = Field(default=None, ge=0)

    def micro_usd(self, tokens: Mapping[str, int]) -> int:
        """Return the price of tokens by kind, in millionths of a dollar; a cached token costs only its own price."""
        cost = sum(self._usd(kind) * count for kind, count in tokens.items())
        for kind in ("text_in", "audio_in", "image_in"):
            cost -= self._usd(kind) * min(tokens.get(f"cached_{kind}", 0), tokens.get(kind, 0))
        return round(cost)

    def _usd(self, kind: str) -> float:
        named: float | None = getattr(self, kind)
        if named is not None:
            return named
        if kind.startswith("cached_"):
            return self._usd(kind.removeprefix("cached_"))
        return self.text_out if kind.endswith("_out") else self.text_in


class BudgetSettings(PluginSettings, env_prefix="BUDGETS__", nested_model_default_partial_update=True):
    """The budgets of a day, the limits in parallel, and when a caller counts as proven."""

    user: DayBudget = DayBudget(model_tokens=500_000, voice_minutes=60, tasks=40, kept_kilobytes=1_000)
    address: DayBudget = DayBudget(model_tokens=1_000_000, voice_minutes=120, tasks=80, kept_kilobytes=2_000)
    """The budget of all users of one address that have not proven themselves."""
    key: DayBudget = DayBudget()
    """The budget of all users with tokens of one API key."""
    total: DayBudget = DayBudget(model_tokens=20_000_000, voice_minutes=3_000, tasks=2_000, kept_kilobytes=200_000)
    """The budget of all users together; beyond it, requests are answered with 503."""
    prices: Annotated[dict[str, ModelPrice], NoDecode] = Field(
        {},
        description="JSON of model → US dollars for a million tokens by their kind, before backend/access/prices.toml.",
    )
    live_calls: int = Field(2, ge=0, description="Live calls in parallel of one user, and of one address.")
    running_turns: int = Field(4, ge=0, description="Typed turns in parallel of one user, and of one address.")
    open_streams: int = Field(8, ge=0, description="Event streams in parallel of one user, and of one address.")
    limit_loopback: bool = Field(
        False, description="Apply these limits to callers from this very machine, too, e.g. behind a proxy."
    )
    new_users_per_day: int = Field(100, ge=0, description="New users (cookies) a day that one address is given.")
    proven_after_h: float = Field(
        24, ge=0, description="Hours after which a returning cookie is no longer charged to its address."
    )

    @field_validator("prices", mode="before")
    @classmethod
    def _prices(cls, value: Any) -> Any:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except json.JSONDecodeError:
            raise ValueError('must be JSON, e.g. {"gpt-5.4": {"text_in": 2.5, "text_out": 15}}') from None
