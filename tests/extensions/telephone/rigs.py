"""A telephone call by a provider's media stream, over a real WebSocket, for the suite that every transport passes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from starlette.websockets import WebSocket

from backend.extensions.telephone.media_stream import MediaStreamTransport
from backend.extensions.telephone.settings import TwilioSettings
from backend.extensions.telephone.twilio import Twilio, TwilioFraming
from tests.extensions.telephone.media_streams import TwilioStream
from tests.extensions.telephone.stand_ins import ACCOUNT, TOKEN
from tests.support.callers import PhoneRig, Rig, over_a_socket


@asynccontextmanager
async def media_stream_rig() -> AsyncIterator[Rig]:
    """A telephone call that a provider passes on over a real WebSocket."""
    async with media_stream_call() as (transport, stream):
        yield PhoneRig(transport, stream)


@asynccontextmanager
async def media_stream_call(
    delay_s: float = 0.0, *, api_url: str = "", account: str = ACCOUNT
) -> AsyncIterator[tuple[MediaStreamTransport, TwilioStream]]:
    """A started stream; both ends are closed at the end. `delay_s`: the delay of the provider's buffer."""
    stream = TwilioStream(delay_s=delay_s)
    async with httpx2.AsyncClient(trust_env=False) as http:

        async def made(websocket: WebSocket) -> MediaStreamTransport:
            framing = TwilioFraming()
            while (message := framing.read((await websocket.receive())["text"])).event != "start":
                pass
            started = framing.started(message)
            settings = TwilioSettings.model_validate({"auth_token": TOKEN, "account_sid": account})
            twilio = Twilio(settings, http, api_url)
            return MediaStreamTransport(websocket, framing, started, twilio)

        async with over_a_socket(made, stream.connect, stream.close) as transport:
            yield transport, stream


RIGS = [media_stream_rig]
