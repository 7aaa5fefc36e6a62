"""`python -m backend.testing.offline`: the scripted peer, started and ended as the local Responder is."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import uvloop

from backend.errors import SetupError
from backend.extensions.local.__main__ import command_line
from backend.extensions.local.engines import open_engines
from backend.extensions.local.realtime.core import Realtime
from backend.extensions.local.server import run
from backend.extensions.local.synthesis.voice import speak
from backend.extensions.local.voice_session import VoiceSession
from backend.testing.offline.app import ScriptedPeer, create_app
from backend.testing.offline.script.schema import Script, load


def main() -> int:
    """Parse the command line and serve. Returns the exit status."""
    parser = command_line(
        "python -m backend.testing.offline", "A Realtime server that follows a script. No key, no network."
    )
    parser.add_argument("--script", type=Path, help="a script file; without one, the local Responder answers")
    parser.add_argument(
        "--strict",
        nargs="?",
        const="openai",
        choices=["openai", "xai", "qwen", "gemini", "gpt_live", "speech_to_speech", "localai", "vllm_omni"],
        help="refuse what a provider's schema does not know: without a name, that of the openai package",
    )
    parser.add_argument("--load-when-used", action="store_true", help="load the speech models when they are first used")
    options = parser.parse_args()
    try:
        uvloop.run(_serve(load(options.script) if options.script else None, options))
    except SetupError as error:
        sys.stderr.write(f"{error}\n{error.hint}\n")
        return 2
    return 0


async def _serve(script: Script | None, options: argparse.Namespace) -> None:
    # A script needs no engine until it says so.
    async with open_engines(at_once=script is None and not options.load_when_used) as engines:
        peer = ScriptedPeer(
            partial(VoiceSession, engines),
            speak,
            script,
            required_key=options.require_key,
            conversation=_conversation(options.strict),
            load=engines.loaded,
        )
        await run(create_app(peer), options)


def _conversation(strict: str | None) -> type[Realtime]:
    if strict == "xai":
        from backend.testing.offline.xai import XaiRealtime

        return XaiRealtime
    if strict == "qwen":
        from backend.testing.offline.qwen import QwenRealtime

        return QwenRealtime
    if strict == "gemini":
        from backend.testing.offline.gemini import GeminiRealtime

        return GeminiRealtime
    if strict == "gpt_live":
        from backend.testing.offline.gpt_live import LiveRealtime

        return LiveRealtime
    if strict == "openai":
        from backend.testing.offline.strict import StrictRealtime  # the openai package takes a second to import

        return StrictRealtime
    if strict:
        from backend.testing.offline.self_hosted import SERVERS

        return SERVERS[strict]
    return Realtime


if __name__ == "__main__":
    sys.exit(main())
