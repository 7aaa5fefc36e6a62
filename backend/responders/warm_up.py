"""Follows what the local Responder is still loading, for the page, the terminal and `/readyz`."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

ASK_EVERY_S = 0.5
"""Seconds between two checks while parts are being loaded."""

Ask = Callable[[], Awaitable[list[str] | None]]
"""Returns the parts that are being loaded now; None without an answer."""


class WarmUp:
    """The parts that are being loaded. Earlier calls wait for the parts that they need."""

    def __init__(self, ask: Ask, loading: list[str]) -> None:
        self.loading = loading
        """The names of the parts, e.g. `speech recognition`; empty once all are loaded."""
        self.took_s = 0.0
        """The seconds that loading took; 0 until it is over."""
        self._ask = ask
        self._began = time.monotonic()
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Check until everything is loaded."""
        while self.loading:
            await asyncio.sleep(ASK_EVERY_S)
            now = await self._ask()
            if now is not None:
                self._take(now)
        self.took_s = time.monotonic() - self._began
        self._over.set()

    async def wait(self) -> None:
        """Wait until everything is loaded."""
        await self._over.wait()

    def _take(self, loading: list[str]) -> None:
        for part in self.loading:
            if part not in loading:
                log.info("the local Responder has loaded its %s", part)
        self.loading = loading
