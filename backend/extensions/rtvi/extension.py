"""Calls from web and mobile client kits that speak RTVI, the protocol of Pipecat."""

from backend.access.principal import Grant
from backend.extension import Extension
from backend.extensions.rtvi.messages import refusal
from backend.extensions.rtvi.routes import router

EXTENSION = Extension(
    name="rtvi",
    title="RTVI",
    routes=(router,),
    grants={"/api/rtvi": Grant.CALL},
    token_sockets={"/api/rtvi": refusal},
)
