"""Calls by the telephone providers Twilio, Telnyx and Plivo, as media streams."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from backend.extension import Extension, Ground, Opened
from backend.extensions.telephone.plivo import Plivo
from backend.extensions.telephone.provider import Telephone, TelephoneProvider
from backend.extensions.telephone.routes import router
from backend.extensions.telephone.settings import PlivoSettings, TelnyxSettings, TwilioSettings
from backend.extensions.telephone.telnyx import Telnyx
from backend.extensions.telephone.twilio import Twilio
from backend.settings.settings import Settings


@asynccontextmanager
async def open_telephone(ground: Ground) -> AsyncIterator[Opened]:
    """Accept calls from the providers that the settings name."""
    yield Opened(services={Telephone: open_providers(ground.settings, ground.http)})


def open_providers(settings: Settings, http: httpx2.AsyncClient) -> Telephone:
    """Return the providers with credentials; the paths of the others answer 404."""
    twilio, telnyx, plivo = settings.of(TwilioSettings), settings.of(TelnyxSettings), settings.of(PlivoSettings)
    providers: list[TelephoneProvider] = []
    if twilio.auth_token.get_secret_value():
        providers.append(Twilio(twilio, http))
    if telnyx.public_key:
        providers.append(Telnyx(telnyx, http))
    if plivo.auth_token.get_secret_value():
        providers.append(Plivo(plivo))
    return Telephone({each.name: each for each in providers})


EXTENSION = Extension(
    name="telephone",
    title="Telephone",
    settings=(TwilioSettings, TelnyxSettings, PlivoSettings),
    open=open_telephone,
    routes=(router,),
    grants={"/twilio": None, "/telnyx": None, "/plivo": None},  # signed; the socket needs its own token
)
