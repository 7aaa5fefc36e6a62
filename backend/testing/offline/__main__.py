"""`python -m backend.testing.offline`: the scripted peer, started and ended as the local Responder is."""

import argparse
import sys
from pathlib import Path

import uvloop

from backend.errors import SetupError
from backend.realtime.serving.core import Realtime
from backend.responders.serving.server import command_line, run
from backend.testing.offline.app import ScriptedPeer, create_app
from backend.testing.offline.script.schema import Script, load
from backend.testing.offline.unscripted import peer_of

OWN = "openai"
"""The provider that the peer knows without an extension."""


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    parser = command_line(
        "python -m backend.testing.offline", "A Realtime server that follows a script. No key, no network."
    )
    parser.add_argument("--script", type=Path, help="a script file; without one, it says nothing")
    parser.add_argument(
        "--strict",
        nargs="?",
        const=OWN,
        metavar="PROVIDER",
        help="refuse what a provider's schema does not know: without a name, that of the openai package",
    )
    options = parser.parse_args()
    try:
        uvloop.run(_serve(load(options.script) if options.script else None, options))
    except SetupError as error:
        sys.stderr.write(f"{error}\n{error.hint}\n")
        return 2
    return 0


async def _serve(script: Script | None, options: argparse.Namespace) -> None:
    peer = ScriptedPeer(script, required_key=options.require_key, conversation=_conversation(options.strict))
    await run(create_app(peer), options)


def _conversation(strict: str | None) -> type[Realtime]:
    if not strict:
        return Realtime
    if strict != OWN:
        return peer_of(strict)
    from backend.testing.offline.strict import StrictRealtime  # the openai package takes a second to import

    return StrictRealtime


if __name__ == "__main__":
    sys.exit(main())
