"""`python -m demo.offline`: serve, say where on stdout in one JSON line, end on SIGTERM or with the parent."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import uvloop

from backend.errors import SetupError
from demo.offline import parent
from demo.offline.app import Demonstration, create_app
from demo.offline.demonstration.brain import DemonstrationBrain
from demo.offline.script.schema import Script, load
from demo.offline.server import Server, listen
from demo.offline.speech.ears import Ears
from demo.offline.speech.voice import the_voice


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    options = _options()
    try:
        uvloop.run(_serve(load(options.script) if options.script else None, options))
    except SetupError as error:
        sys.stderr.write(f"{error}\n{error.hint}\n")
        return 2
    return 0


async def _serve(script: Script | None, options: argparse.Namespace) -> None:
    ears = Ears()
    try:
        if script is None:
            # Loading while the first caller is still dialling; a script needs neither until it says so.
            await ears.start()
            the_voice()
        served = Demonstration(lambda: DemonstrationBrain(ears, speak), speak, script, required_key=options.require_key)
        listening = listen(options.host, options.port)
        server = Server(create_app(served))
        if options.exit_with_parent:
            parent.when_gone(server.stop)
        _announce(options.host, listening.getsockname()[1])
        await server.serve(listening)
    finally:
        await ears.close()


def _announce(host: str, port: int) -> None:
    address = f"[{host}]" if ":" in host else host
    sys.stdout.write(json.dumps({"listening": f"http://{address}:{port}"}) + "\n")
    sys.stdout.flush()


def speak(words: str) -> bytes:
    """Words to 24 kHz mono PCM16. Raises `MissingLibrary`."""
    return the_voice().speak(words)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m demo.offline", description="An OpenAI-compatible demonstration server. No key, no network."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--script", type=Path, help="a script file: deterministic instead of demonstrating")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input is closed")
    parser.add_argument(
        "--require-key", default=os.environ.get("OFFLINE_REQUIRE_KEY"), help="accept this API key only (for tests)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
