"""The ways to call by media streams of telephone providers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from backend.testing.services.plivo import TOKEN as PLIVO_TOKEN
from backend.testing.services.telnyx import PUBLIC_KEY
from backend.testing.services.twilio import TOKEN
from tests.extensions.telephone.announcing import phone_call, plivo_call, telnyx_call
from tests.extensions.telephone.stream import MediaStream
from tests.support.every_way import Line, Way


def by_stream(open_call: Callable[[str], AbstractAsyncContextManager[MediaStream]]) -> Way:
    @asynccontextmanager
    async def way(url: str) -> AsyncIterator[Line]:
        async with open_call(url) as stream:
            yield Line(stream.say, lambda seen: stream.heard[seen:])

    return way


WAYS: dict[str, Way] = {
    "telephone, Twilio": by_stream(phone_call),
    "telephone, Telnyx": by_stream(telnyx_call),
    "telephone, Plivo": by_stream(plivo_call),
}
SETTINGS = {"TWILIO__AUTH_TOKEN": TOKEN, "TELNYX__PUBLIC_KEY": PUBLIC_KEY, "PLIVO__AUTH_TOKEN": PLIVO_TOKEN}
