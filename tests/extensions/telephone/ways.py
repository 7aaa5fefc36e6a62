"""The ways to call by media streams of telephone providers."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from tests.extensions.telephone.announcing import phone_call, plivo_call, telnyx_call
from tests.extensions.telephone.stand_ins import PLIVO_TOKEN, PUBLIC_KEY, TOKEN
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
