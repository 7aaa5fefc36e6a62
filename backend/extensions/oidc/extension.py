"""Users sign in at the operator's OpenID provider (`ACCESS=oidc`)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.errors import SetupError
from backend.extension import Extension, Ground, Opened
from backend.extensions.oidc.provider import OpenIdProvider
from backend.extensions.oidc.routes import router
from backend.extensions.oidc.settings import OidcSettings
from backend.runtime.extras import require


@asynccontextmanager
async def open_sign_in(ground: Ground) -> AsyncIterator[Opened]:
    """Open the provider. Raises `SetupError` if ACCESS is `oidc` and no provider is set."""
    if "oidc" not in ground.settings.access.access:
        yield Opened(page=None)
        return
    settings = ground.settings.of(OidcSettings)
    if not (settings.issuer and settings.client_id):
        hint = "Set the address of the provider, and this server's client id there."
        raise SetupError("ACCESS=oidc needs OIDC__ISSUER and OIDC__CLIENT_ID.", hint=hint)
    require("authlib", extra="oidc", needed_by="ACCESS=oidc")
    yield Opened(services={OpenIdProvider: OpenIdProvider(settings, ground.http)})


EXTENSION = Extension(
    name="oidc",
    title="Signing in",
    settings=(OidcSettings,),
    open=open_sign_in,
    routes=(router,),
    grants={"/auth": None},  # signing in and out
)
