"""`POST /api/reasoning` works on a task with one model that checks itself, or with a planner and an executor."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, StringConstraints

from backend.access.addresses import address_key
from backend.access.concurrency import Permit, PermitKind
from backend.access.usage import TURN
from backend.errors import NotFound, VoiceError
from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Here, principal_of, spend, take_permit
from backend.http.sse import HEARTBEAT, EventStream, encode_event
from backend.reasoning.base import Reasoned, ReasoningRequest, Stage, Strategy
from backend.reasoning.reasoner import TEXT_LIMIT, Reasoner
from backend.runtime.supervisor import cancel_all, event_or_timeout
from backend.tools.base import ToolContext, ToolRights

STAGES_KEPT = 100
"""The most stages that wait for a reader; beyond that, the oldest is dropped."""

router = APIRouter(tags=["reasoning"])


class ReasoningTask(BaseModel):
    """`POST /api/reasoning`."""

    task: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TEXT_LIMIT)]
    strategy: Strategy = Field("mono", description="One model or two.")
    stream: bool = Field(
        False, description="Server-sent events: `stage` as the work goes on, then `result` or `error`."
    )


@router.post(
    "/api/reasoning",
    openapi_extra=documented(ReasoningTask),
    responses={200: {"content": {"application/json": {}, "text/event-stream": {}}}},
)
async def reason(request: Request, here: Here, caller: Caller) -> Response:
    """Return the outcome, `complete` or `incomplete`. 429 over the limits, 503 when no model answers."""
    await here.reasoning.take(address_key(request), here.now())
    reasoner = here.services.work.reasoner
    if reasoner is None:
        raise NotFound("Reasoning is off on this server.")
    body = await read_body(request, ReasoningTask)
    rights = ToolRights(principal_of(request).caller_scope, attended=False)
    user = caller.user if caller.known else ""
    context = ToolContext(user, f"reasoning-{secrets.token_hex(6)}", rights=rights)
    task = ReasoningRequest(body.task, body.strategy, context, tools=reasoner.tools)
    await spend(request, TURN)
    permit = await take_permit(request, PermitKind.TURNS)
    if not body.stream:
        async with permit:
            return JSONResponse(asdict(await reasoner.infer(task)))
    return EventStream(_stream(reasoner, task, permit, here.heartbeat_s))


async def _stream(
    reasoner: Reasoner, task: ReasoningRequest, permit: Permit, heartbeat_s: float
) -> AsyncGenerator[bytes, None]:
    """Yield stages as they occur, then the outcome. The work ends if the reader leaves."""
    stages: deque[Stage] = deque(maxlen=STAGES_KEPT)
    news = asyncio.Event()

    def on_stage(stage: Stage) -> None:
        stages.append(stage)
        news.set()

    work = asyncio.create_task(reasoner.infer(task, on_stage=on_stage), name="reasoning")
    permit.release_after(work)
    work.add_done_callback(lambda _: news.set())
    try:
        while not work.done():
            await event_or_timeout(news, heartbeat_s)
            if not news.is_set():
                yield HEARTBEAT
            news.clear()
            while stages:
                yield encode_event("stage", asdict(stages.popleft()))
        yield _outcome(work)
    finally:
        await cancel_all([work])


def _outcome(work: asyncio.Task[Reasoned]) -> bytes:
    try:
        return encode_event("result", asdict(work.result()))
    except VoiceError as error:
        return encode_event("error", {"message": str(error), "hint": error.hint})
