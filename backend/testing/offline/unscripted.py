"""Parts of installed extensions for the scripted peer: their providers' schemas, and answers without a script. `PEERS`
in an extension's module `scripted` names the conversations that check a provider's schema. `open_unscripted` in its
module `unscripted` opens the handlers for connections without a script.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.responses import Response

from backend.errors import SetupError
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.handler import Handler
from backend.responders.serving.service import failure
from backend.testing.extension_modules import modules_named
from backend.testing.offline.script.handler import ScriptedHandler
from backend.testing.offline.script.schema import ConnectionScript


class Unscripted(Protocol):
    """Answers without a script."""

    def new_handler(self) -> Handler:
        """Return the handler of one connection."""

    async def load(self) -> None:
        """Load what it needs, unless that was done before."""

    async def complete(self, body: bytes) -> Response:
        """Answer one chat completion."""


class Mute(Unscripted):
    """The fallback of an empty script, for when no extension answers."""

    def new_handler(self) -> Handler:
        return ScriptedHandler(ConnectionScript())

    async def load(self) -> None:
        """Nothing is needed."""

    async def complete(self, body: bytes) -> Response:
        return failure(503, "Nothing answers here without a script.", "server_error")


@asynccontextmanager
async def open_unscripted(*, at_once: bool) -> AsyncIterator[Unscripted]:
    """Open the handlers for connections without a script; with `at_once` load them now, not when first needed."""
    for module in modules_named("unscripted"):
        async with module.open_unscripted(at_once=at_once) as answering:
            yield answering
            return
    yield Mute()


def peer_of(provider: str) -> type[Realtime]:
    """Return the conversation that holds a client to the provider's schema. Raises `SetupError`."""
    known: set[str] = set()
    for module in modules_named("scripted", provider):
        peers: dict[str, type[Realtime]] = module.PEERS
        if provider in peers:
            return peers[provider]
        known |= peers.keys()
    raise SetupError(f"No provider is {provider!r}.", hint=f"--strict takes {', '.join(sorted(known))}.")
