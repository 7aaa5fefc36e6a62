"""The setting of the shop, `SHOP__OPENING_HOURS`."""

from pydantic import Field

from backend.settings.plugin import PluginSettings


class ShopSettings(PluginSettings, env_prefix="SHOP__"):
    """The shop's data for callers."""

    opening_hours: str = Field("Monday to Friday, 9 to 18", description="When the shop is open, as it is said.")
