"""Opens the telephone providers that the settings name."""

from __future__ import annotations

import httpx2

from backend.extensions.telephone.plivo import Plivo
from backend.extensions.telephone.provider import Telephone, TelephoneProvider
from backend.extensions.telephone.telnyx import Telnyx
from backend.extensions.telephone.twilio import Twilio
from backend.settings.settings import Settings


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
    if settings.telnyx.public_key:
        key = settings.telnyx.api_key
        providers["telnyx"] = Telnyx(
            http,
            public_key=settings.telnyx.public_key,
            api_key=key.get_secret_value() if key else "",
            account=settings.telnyx.account_sid,
            api_url=settings.telnyx.api_url,
        )
    if (token := settings.plivo.auth_token) is not None:
        providers["plivo"] = Plivo(
            http,
            auth_token=token.get_secret_value(),
            auth_id=settings.plivo.auth_id,
            api_url=settings.plivo.api_url,
        )
    public_urls = {name: getattr(settings, name).public_url for name in ("twilio", "telnyx", "plivo")}
    return Telephone(providers, public_urls)
