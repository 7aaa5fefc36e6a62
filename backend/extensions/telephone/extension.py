"""Calls by the telephone providers Twilio, Telnyx and Plivo, as media streams."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.extension import Extension, Ground, Opened
from backend.extensions.telephone.opening import open_providers
from backend.extensions.telephone.provider import Telephone
from backend.extensions.telephone.routes import router
from backend.extensions.telephone.settings import PlivoSettings, TelnyxSettings, TwilioSettings


@asynccontextmanager
async def open_telephone(ground: Ground) -> AsyncIterator[Opened]:
    """Have calls taken from the providers that the settings name."""
    yield Opened(services={Telephone: open_providers(ground.settings, ground.http)})


EXTENSION = Extension(
    name="telephone",
    title="Telephone",
    settings=(TwilioSettings, TelnyxSettings, PlivoSettings),
    open=open_telephone,
    routes=(router,),
    grants={"/twilio": None, "/telnyx": None, "/plivo": None},  # signed; the socket opens with a token of its own
)
