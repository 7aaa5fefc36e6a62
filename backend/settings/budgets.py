"""Settings of budgets (`BUDGETS__…`): what callers may use up in a day (UTC) and in parallel; 0: no limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import NoDecode

from backend.settings.plugin import PluginSettings

TOKENS = "Model tokens a day of"
MINUTES = "Minutes of voice calls a day of"
TASKS = "Background tasks a day of"
KILOBYTES = "Kilobytes that are written and kept in a day for"
USD = "US dollars a day, by the prices of models, of"


class UserBudget(BaseModel):
    """The budget of one user for a day."""

    model_tokens: int = Field(500_000, ge=0, description=f"{TOKENS} one user.")
    voice_minutes: float = Field(60, ge=0, description=f"{MINUTES} one user.")
    tasks: int = Field(40, ge=0, description=f"{TASKS} one user.")
    kept_kilobytes: int = Field(1_000, ge=0, description=f"{KILOBYTES} one user.")
    usd: float = Field(0, ge=0, description=f"{USD} one user.")


class AddressBudget(BaseModel):
    """The budget for a day of all users of one address that have not proven themselves."""

    model_tokens: int = Field(1_000_000, ge=0, description=f"{TOKENS} all new callers of one address.")
    voice_minutes: float = Field(120, ge=0, description=f"{MINUTES} all new callers of one address.")
    tasks: int = Field(80, ge=0, description=f"{TASKS} all new callers of one address.")
    kept_kilobytes: int = Field(2_000, ge=0, description=f"{KILOBYTES} all new callers of one address.")
    usd: float = Field(0, ge=0, description=f"{USD} all new callers of one address.")


class KeyBudget(BaseModel):
    """The budget for a day of all bearers of one API key's tokens."""

    model_tokens: int = Field(0, ge=0, description=f"{TOKENS} one API key.")
    voice_minutes: float = Field(0, ge=0, description=f"{MINUTES} one API key.")
    tasks: int = Field(0, ge=0, description=f"{TASKS} one API key.")
    kept_kilobytes: int = Field(0, ge=0, description=f"{KILOBYTES} one API key.")
    usd: float = Field(0, ge=0, description=f"{USD} one API key.")


class TotalBudget(BaseModel):
    """The ceiling over everybody together."""

    model_tokens: int = Field(20_000_000, ge=0, description=f"{TOKENS} everybody together; then 503.")
    voice_minutes: float = Field(3_000, ge=0, description=f"{MINUTES} everybody together; then 503.")
    tasks: int = Field(2_000, ge=0, description=f"{TASKS} everybody together; then 503.")
    kept_kilobytes: int = Field(200_000, ge=0, description=f"{KILOBYTES} everybody together; then 503.")
    usd: float = Field(0, ge=0, description=f"{USD} everybody together; then 503.")


class ModelPrice(BaseModel):
    """The price of a model, in US dollars for a million tokens of each kind; a kind that is left out costs nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text_in: float = Field(ge=0)
    audio_in: float = Field(0, ge=0)
    image_in: float = Field(0, ge=0)
    cached_text_in: float = Field(0, ge=0)
    cached_audio_in: float = Field(0, ge=0)
    cached_image_in: float = Field(0, ge=0)
    text_out: float = Field(ge=0)
    audio_out: float = Field(0, ge=0)

    def micro_usd(self, tokens: Mapping[str, int]) -> int:
        """Return what these tokens cost, by their kind, in millionths of a dollar: a cached one its own price only."""
        cost: float = sum(getattr(self, kind) * count for kind, count in tokens.items())
        for kind in ("text_in", "audio_in", "image_in"):
            cost -= getattr(self, kind) * min(tokens.get(f"cached_{kind}", 0), tokens.get(kind, 0))
        return round(cost)


class BudgetSettings(PluginSettings, env_prefix="BUDGETS__"):
    """The budgets of a day, the limits in parallel, and when a caller counts as proven."""

    user: UserBudget = Field(default_factory=UserBudget)  # type: ignore[arg-type]
    address: AddressBudget = Field(default_factory=AddressBudget)  # type: ignore[arg-type]
    key: KeyBudget = Field(default_factory=KeyBudget)  # type: ignore[arg-type]
    total: TotalBudget = Field(default_factory=TotalBudget)  # type: ignore[arg-type]
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
