"""`/api/confirmations` shows what the caller is asked to agree to, and takes their click as the answer.

The cookie says who the caller is: a question of another user is answered like one that does not exist. An agreement is
carried out by the same tool call made again, as after a spoken one: tell the conversation that it was given.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from msgspec import structs
from pydantic import BaseModel, StrictBool

from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Here
from backend.runtime.json_objects import Json

router = APIRouter(tags=["confirmations"])


class ConfirmationAnswer(BaseModel):
    """`POST /api/confirmations/{id}`."""

    agreed: StrictBool


@router.get("/api/confirmations")
async def list_confirmations(here: Here, caller: Caller) -> Json:
    """List the questions that are open: what would be done, with which arguments, until when it can be agreed to."""
    asked = await here.services.confirmations.of(caller.user, caller.principal.conversation)
    return {"confirmations": [structs.asdict(each) for each in asked]}


@router.post("/api/confirmations/{confirmation_id}", openapi_extra=documented(ConfirmationAnswer))
async def answer_confirmation(request: Request, here: Here, caller: Caller, confirmation_id: str) -> dict[str, bool]:
    """Agree to one act, or refuse it. 404 for a question that is not open, or another user's."""
    await here.messages.take(caller.user, here.now())
    body = await read_body(request, ConfirmationAnswer)
    conversation = caller.principal.conversation
    await here.services.confirmations.answer(
        caller.user, confirmation_id, agreed=body.agreed, conversation=conversation
    )
    return {"agreed": body.agreed}
