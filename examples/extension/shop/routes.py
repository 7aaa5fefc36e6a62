"""`GET /api/shop`: what a page may show of the shop."""

from __future__ import annotations

from fastapi import APIRouter

from backend.http.context import Here

from .settings import ShopSettings

router = APIRouter(tags=["shop"])


@router.get("/api/shop")
async def show_shop(here: Here) -> dict[str, str]:
    """Return when the shop is open."""
    return {"opening_hours": here.services.settings.of(ShopSettings).opening_hours}
