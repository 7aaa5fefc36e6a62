"""Opens the telephone providers that the settings name."""

from __future__ import annotations

import httpx2

from backend.settings.settings import Settings
from backend.transports.telephone.provider import Telephone, TelephoneProvider
from backend.transports.telephone.twilio import Twilio


def open_telephone(settings: Settings, http: httpx2.AsyncClient) -> Telephone:
    """Return the providers whose credentials are set; a provider without them is refused at its paths."""
    providers: dict[str, TelephoneProvider] = {}
    if (token := settings.twilio.auth_token) is not None:
        providers["twilio"] = Twilio(
            http,
            auth_token=token.get_secret_value(),
            account=settings.twilio.account_sid,
            api_url=settings.twilio.api_url,
        )
    return Telephone(providers, {"twilio": settings.twilio.public_url})
