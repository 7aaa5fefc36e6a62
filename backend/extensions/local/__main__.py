"""`python -m backend.extensions.local`: serve, print the address as a JSON line, end on SIGTERM or with the parent."""

from __future__ import annotations

import argparse
import json
import logging
import sys

import uvloop

from backend.errors import SetupError
from backend.extensions.local.app import LocalService
from backend.extensions.local.engines import open_engines
from backend.extensions.local.recognition.choose import cores, usual_calls
from backend.observability.logs import keep_words_out
from backend.responders.serving.server import command_line, run
from backend.responders.serving.service import create_app


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    parser = command_line("python -m backend.extensions.local", "The local Responder: no key, no network.")
    parser.add_argument("--calls", type=int, default=0, help="calls served in parallel; 0: as many as the cores serve")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="local Responder: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    keep_words_out()
    try:
        uvloop.run(_serve(options))
    except SetupError as error:
        _explain(error, options)
        return 2
    return 0


async def _serve(options: argparse.Namespace) -> None:
    async with open_engines() as engines:
        service = LocalService(engines, options.calls or usual_calls(cores()), options.require_key)
        await run(create_app(service), options)


def _explain(error: SetupError, options: argparse.Namespace) -> None:
    """Report why it cannot start: to the server that started it, in place of an address, or to the terminal."""
    if options.exit_with_parent:
        sys.stdout.write(json.dumps({"error": str(error), "hint": error.hint}) + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"{error}\n{error.hint}\n")


if __name__ == "__main__":
    sys.exit(main())
