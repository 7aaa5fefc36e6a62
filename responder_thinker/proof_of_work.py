"""A server that asks strangers for a proof of work (428) gets one: the request is sent again with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import httpx2

from backend.access.proof_of_work import proof

WORK_REQUIRED = 428
HEADER = "Proof-Of-Work"
BITS_MOST = 26
"""More is not worked for: it would take a minute or longer."""


class ProvingWork(httpx2.Auth):
    """Proves work where it is asked for, beside the event loop. A proof that is refused is not repeated."""

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request, and again with a proof where the server asks for one."""
        response = yield request
        if response.status_code != WORK_REQUIRED:
            return
        await response.aread()
        try:
            error = response.json()["error"]
            challenge, bits = str(error["challenge"]), int(error["bits"])
        except (ValueError, KeyError, TypeError):
            return
        if bits > BITS_MOST:
            return
        request.headers[HEADER] = await asyncio.to_thread(proof, challenge, bits)
        given = httpx2.Cookies()
        given.extract_cookies(response)
        if given:  # the proof marks the user that this answer has made
            request.headers.pop("Cookie", None)
            given.set_cookie_header(request)
        yield request
