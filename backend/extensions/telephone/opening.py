"""Opens the telephone providers that the settings name."""

from __future__ import annotations

import httpx2

from backend.extensions.telephone.plivo import Plivo
from backend.extensions.telephone.provider import Telephone, TelephoneProvider
from backend.extensions.telephone.settings import PlivoSettings, TelnyxSettings, TwilioSettings
from backend.extensions.telephone.telnyx import Telnyx
from backend.extensions.telephone.twilio import Twilio
from backend.settings.settings import Settings


def open_providers(settings: Settings, http: httpx2.AsyncClient) -> Telephone:
    """Return the providers with credentials; a provider without them is refused at its paths."""
    twilio, telnyx, plivo = settings.of(TwilioSettings), settings.of(TelnyxSettings), settings.of(PlivoSettings)
    providers: dict[str, TelephoneProvider] = {}
    if (token := twilio.auth_token) is not None:
        secret, account = token.get_secret_value(), twilio.account_sid
        providers["twilio"] = Twilio(http, auth_token=secret, account=account, api_url=twilio.api_url)
    if telnyx.public_key:
        providers["telnyx"] = Telnyx(
            http,
            public_key=telnyx.public_key,
            api_key=telnyx.api_key.get_secret_value() if telnyx.api_key else "",
            account=telnyx.account_sid,
            api_url=telnyx.api_url,
        )
    if (token := plivo.auth_token) is not None:
        secret = token.get_secret_value()
        providers["plivo"] = Plivo(http, auth_token=secret, auth_id=plivo.auth_id, api_url=plivo.api_url)
    urls = {"twilio": twilio.public_url, "telnyx": telnyx.public_url, "plivo": plivo.public_url}
    return Telephone(providers, urls)
