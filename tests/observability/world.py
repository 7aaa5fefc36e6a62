"""A traced call: Thinkers over a scripted model, a fake line, and a tracer that the test chooses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from backend.observability.tracing import Tracer
from backend.testing.memory import FakeMemory
from backend.turns import events as ev
from tests.call.world import TONE, PlacedCall, placed_call, settle
from tests.support.waiting import until
from tests.thinkers.world import world

SPOKEN = "my very private question about Seattle"


@asynccontextmanager
async def traced_call(
    tracer: Tracer, *scenes: Any, memory: FakeMemory | None = None, **line: Any
) -> AsyncIterator[PlacedCall]:
    """A call with the real Thinkers; no service can be reached, so that tools give samples."""
    async with (
        world(*scenes, memory=memory) as thinking,
        placed_call(thinkers=thinking.thinkers, tracer=tracer, **line) as call,
    ):
        yield call


async def begin_turn(call: PlacedCall, text: str = SPOKEN) -> None:
    """The caller asks."""
    call.session.live_call().type_text(text)
    await settle()


async def route(call: PlacedCall, domain: str, query: str, id_: str = "c1", *, finish: bool = True) -> None:
    """The Responder hands the question on. If `finish` is set, it then ends its reply."""
    request = call.responder.requests[-1].request
    arguments = json.dumps({"domain": domain, "query": query})
    call.responder.say(ev.ReplyStarted(f"r-{request}", request))
    call.responder.say(ev.ToolCalled(f"r-{request}", id_, "route_to_thinker", arguments))
    if finish:
        call.responder.say(ev.ReplyFinished(f"r-{request}", "completed"))
    await settle()


async def answered(call: PlacedCall, events: int = 1) -> None:
    """So many Thinkers have come to an end."""
    over = {"complete", "failed", "stale"}
    await until(lambda: sum(data["event"] in over for data in call.events_of("thinker")) >= events)


async def speak_reply(call: PlacedCall, text: str = "It is mild in Seattle.") -> None:
    """The Responder speaks the answer, and the caller hears it to the end."""
    request = call.responder.requests[-1].request
    reply, item = f"r-{request}", f"i-{request}"
    call.responder.say(ev.ReplyStarted(reply, request), ev.ReplyText(reply, item, text))
    call.responder.say(ev.ReplyAudio(reply, item, TONE), ev.ReplyFinished(reply, "completed"))
    await settle()
    call.transport.tick(14)
    await settle()


async def hang_up(call: PlacedCall) -> None:
    """The caller hangs up."""
    call.live.hang_up("disconnected")
    await asyncio.wait_for(asyncio.shield(call.task), 5)
