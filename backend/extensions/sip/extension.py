"""Calls by SIP: from a trunk, a telephone system, or a softphone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.extension import Extension, Ground, Opened
from backend.extensions.sip.server import serve_sip
from backend.extensions.sip.settings import SipSettings


@asynccontextmanager
async def open_sip(ground: Ground) -> AsyncIterator[Opened]:
    """Accept calls by SIP once the routes are served."""
    yield Opened(serve=serve_sip)


EXTENSION = Extension(name="sip", title="SIP", settings=(SipSettings,), open=open_sip)
