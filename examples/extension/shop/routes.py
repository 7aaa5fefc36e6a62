"""`GET /api/shop`: the shop's data for a page."""

from fastapi import APIRouter

from backend.http.context import Here

from .settings import ShopSettings

router = APIRouter(tags=["shop"])


@router.get("/api/shop")
async def show_shop(here: Here) -> dict[str, str]:
    """Return the opening hours."""
    return {"opening_hours": here.services.settings.of(ShopSettings).opening_hours}
