"""Calls from clients of the OpenAI Realtime API, over WebSocket and WebRTC."""

from backend.access.principal import Grant
from backend.extension import Extension
from backend.extensions.realtime_endpoint import call_routes, socket_routes
from backend.extensions.realtime_endpoint.client_secrets import CLIENT_SECRET

EXTENSION = Extension(
    name="realtime_endpoint",
    title="Realtime endpoint",
    routes=(socket_routes.router, call_routes.router),
    grants={"/v1/realtime": Grant.CALL},
    credentials=(CLIENT_SECRET,),
)
