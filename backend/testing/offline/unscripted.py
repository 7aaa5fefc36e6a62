"""Parts of installed extensions for the scripted peer: their providers' schemas, and answers without a script. `PEERS`
in an extension's module `scripted` names the conversations that check a provider's schema. `complete` in its module
`unscripted` answers chat completions.
"""

from starlette.responses import Response

from backend.errors import SetupError
from backend.realtime.serving.core import Realtime
from backend.responders.serving.service import failure
from backend.testing.extension_modules import modules_named


async def complete(body: bytes) -> Response:
    """Answer one chat completion as the first extension does that can."""
    for module in modules_named("unscripted"):
        answer: Response = await module.complete(body)
        return answer
    return failure(503, "Nothing answers here without a script.", "server_error")


def peer_of(provider: str) -> type[Realtime]:
    """Return the conversation that holds a client to the provider's schema. Raises `SetupError`."""
    known: set[str] = set()
    for module in modules_named("scripted", provider):
        peers: dict[str, type[Realtime]] = module.PEERS
        if provider in peers:
            return peers[provider]
        known |= peers.keys()
    raise SetupError(f"No provider is {provider!r}.", hint=f"--strict takes {', '.join(sorted(known))}.")
