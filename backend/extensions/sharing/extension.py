"""A user shares what was said in a conversation by a link."""

from __future__ import annotations

from backend.access.principal import Grant
from backend.extension import Extension
from backend.extensions.sharing.routes import router

EXTENSION = Extension(
    name="sharing",
    title="Sharing",
    routes=(router,),
    grants={
        "/api/links": Grant.CHAT,
        "/api/shared": None,  # the link that was shared is the credential
        "/shared": None,
    },
)
