"""Settings of limits: how much the server does at the same time, and how often a caller may ask."""

from pydantic import Field

from backend.settings.plugin import PluginSettings


class LimitSettings(PluginSettings):
    """The number, rate and length of calls and typed turns."""

    session_cap: int = Field(50, ge=0, description="Calls at the same time, in one process.")
    admission_max_lag_ms: int = Field(
        80,
        ge=0,
        description="Milliseconds the event loop may lag while new calls are still accepted; 0: any load will do.",
    )
    session_max_minutes: int = Field(60, ge=0, description="Minutes a call may last.")
    offers_per_minute: int = Field(30, ge=0, description="New calls per minute and address.")
    chat_deadline_s: float = Field(180, gt=0, le=600, description="Seconds a typed turn has to be answered.")
    chat_turns_per_minute: int = Field(30, ge=0, description="Typed turns per minute and user.")
