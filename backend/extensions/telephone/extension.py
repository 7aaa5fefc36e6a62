"""Calls by the telephone providers Twilio, Telnyx and Plivo, as media streams."""

from __future__ import annotations

from backend.extension import Extension
from backend.extensions.telephone.routes import router

EXTENSION = Extension(
    name="telephone",
    title="Telephone",
    routes=(router,),
    grants={"/twilio": None, "/telnyx": None, "/plivo": None},  # signed; the socket opens with a token of its own
)
