"""`python -m backend.extensions.local`: serve, print the address as a JSON line, end on SIGTERM or with the parent."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from functools import partial

import uvloop

from backend.errors import SetupError
from backend.extensions.local.app import About, Service, create_app
from backend.extensions.local.engines import open_engines
from backend.extensions.local.recognition.choose import cores, usual_calls
from backend.extensions.local.server import run
from backend.extensions.local.voice_session import VoiceSession


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    parser = command_line("python -m backend.extensions.local", "The local Responder: no key, no network.")
    parser.add_argument("--calls", type=int, default=0, help="calls served at once; 0: as many as the cores serve")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="local Responder: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        uvloop.run(_serve(options))
    except SetupError as error:
        _explain(error, options)
        return 2
    return 0


async def _serve(options: argparse.Namespace) -> None:
    async with open_engines() as engines:
        calls = options.calls or usual_calls(cores())

        def about() -> About:
            names = engines.recognizer.name, engines.synthesizer.name, engines.dialogue.name
            return About(*names, calls, engines.loading)

        service = Service(partial(VoiceSession, engines), options.require_key, engines.model, about)
        await run(create_app(service), options)


def _explain(error: SetupError, options: argparse.Namespace) -> None:
    """Say why it cannot start: to the server that started it in the place of its address, else to the terminal."""
    if options.exit_with_parent:
        sys.stdout.write(json.dumps({"error": str(error), "hint": error.hint}) + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"{error}\n{error.hint}\n")


def command_line(program: str, description: str) -> argparse.ArgumentParser:
    """The options that the local Responder and the scripted peer share."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input is closed")
    parser.add_argument(
        "--require-key", default=os.environ.get("OFFLINE_REQUIRE_KEY"), help="accept this API key only (for tests)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
