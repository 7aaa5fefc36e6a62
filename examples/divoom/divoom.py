"""An example step: shows each answer on a Divoom Pixoo display, by the HTTP API it has in the local network.

    PLUGIN_FOLDERS=examples/divoom
    PIPELINE__OPTIONS={"divoom": {"device": "192.168.1.50"}}

It runs once the answer is out and has three seconds, so that a display that is off neither delays nor changes an
answer. The display draws text over the picture that this API sent last (`Draw/SendHttpGif`); a new picture wipes it.
"""

from __future__ import annotations

import httpx2

from backend.errors import PeerError
from responder_thinker.steps import StepOptions, WholeTurn, step
from responder_thinker.tools import ServiceAnswer, fetch_answer

TEXT_BYTES = 511
"""Bytes of UTF-8 that the display takes."""


@step(
    "divoom",
    stage="post",
    options={"device": "", "user": "", "color": "#FFFF00", "y": 24},
    deadline_s=3.0,
    detached=True,
)
async def divoom(turn: WholeTurn, http: httpx2.AsyncClient, options: StepOptions) -> None:
    """Show the answer on the display `device` (host and port); with `user`, only answers to this user id.

    Raise `PeerError` when the display cannot be reached or refuses.
    """
    device, user = options.values["device"], options.values["user"]
    if not device or (user and user != turn.asked.user_id):
        return
    command = {
        "Command": "Draw/SendHttpText",
        "TextId": 1,
        "x": 0,
        "y": options.values["y"],
        "dir": 0,
        "font": 4,
        "TextWidth": 64,
        "speed": 50,
        "TextString": shown(turn.answer),
        "color": options.values["color"],
        "align": 1,
    }
    display = f"The Divoom display at {device}"
    answer = await fetch_answer(http, display, f"http://{device}/post", Taken, method="POST", json=command)
    if answer.error_code != 0:
        raise PeerError(f"{display} refused the text: error_code {answer.error_code}.")


class Taken(ServiceAnswer):
    """The display's answer."""

    error_code: int


def shown(answer: str) -> str:
    """Return the answer on one line, cut to the display's limit."""
    line = " ".join(answer.split())
    return line.encode()[:TEXT_BYTES].decode(errors="ignore")
