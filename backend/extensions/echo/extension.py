"""This extension cancels the echo in calls in which the assistant's own voice returns."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from backend.extension import Extension, Ground, Opened

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_echo(ground: Ground) -> AsyncIterator[Opened]:
    """Give each call an echo guard, if WebRTC's canceller is installed."""
    if find_spec("pywebrtc_audio") is None:
        log.warning("echo is not cancelled: pywebrtc-audio is missing (the extra `echo`)")
        yield Opened()
        return
    from backend.extensions.echo.guard import CancellingEchoGuard

    yield Opened(echo_guard=CancellingEchoGuard)


EXTENSION = Extension(
    name="echo", open=open_echo, former={"ECHO_CANCELLATION": "Remove it: calls with echo are recognised."}
)
