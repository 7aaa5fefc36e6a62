"""The tool that gives a Thinker the opening hours."""

from backend.tools.base import Result, tool

from .settings import ShopSettings


@tool("opening_hours", "When the shop is open.")
async def opening_hours(settings: ShopSettings) -> Result:
    """Return the hours, as the operator has written them."""
    return Result({"opening_hours": settings.opening_hours})
