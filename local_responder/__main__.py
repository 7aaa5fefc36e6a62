"""`python -m local_responder`: serve, say where on stdout in one JSON line, end on SIGTERM or with the parent."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AsyncExitStack

import uvloop

from backend.errors import SetupError
from backend.runtime.supervisor import supervising
from local_responder.app import About, Service, create_app
from local_responder.dialogue.brain import DemonstrationBrain
from local_responder.dialogue.chat_model import model_from_environment
from local_responder.dialogue.rules import RulesDialogue
from local_responder.recognition.ears import Ears
from local_responder.server import run
from local_responder.synthesis.voice import speak, the_voice


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    parser = command_line("python -m local_responder", "The local Responder: no key, no network.")
    parser.add_argument("--calls", type=int, default=0, help="calls served at once; 0: any number")
    options = parser.parse_args()
    try:
        uvloop.run(_serve(options))
    except SetupError as error:
        sys.stderr.write(f"{error}\n{error.hint}\n")
        return 2
    return 0


async def _serve(options: argparse.Namespace) -> None:
    ears = Ears()
    try:
        # Loading while the first caller is still dialling.
        await ears.start()
        the_voice()
        model = model_from_environment()
        dialogue = model or RulesDialogue()
        service = Service(
            lambda: DemonstrationBrain(ears, speak, dialogue),
            required_key=options.require_key,
            model=model,
            about=About("pocketsphinx", "espeak-ng", dialogue.name, options.calls),
        )
        async with AsyncExitStack() as stack:
            if model:
                stack.push_async_callback(model.close)
            await stack.enter_async_context(supervising("dialogue_warm_up", dialogue.warm_up))
            await run(create_app(service), options)
    finally:
        await ears.close()


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
