"""`/api/confirmations` shows the questions that the caller may agree to, and takes a click as the answer.

The cookie identifies the caller; another user's question gives the same answer as one that does not exist. After an
agreement the model makes the same tool call again, as after a spoken yes: the client has to say so in the conversation.
"""

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
    """List the open questions: what would be done, with which arguments, and until when the user can agree."""
    asked = await here.services.work.confirmations.of(caller.user, caller.principal.conversation)
    return {"confirmations": [structs.asdict(each) for each in asked]}


@router.post("/api/confirmations/{confirmation_id}", openapi_extra=documented(ConfirmationAnswer))
async def answer_confirmation(request: Request, here: Here, caller: Caller, confirmation_id: str) -> dict[str, bool]:
    """Agree to one act, or refuse it. 404 for a question that is not open or is another user's."""
    await here.messages.take(caller.user, here.now())
    body = await read_body(request, ConfirmationAnswer)
    conversation = caller.principal.conversation
    await here.services.work.confirmations.answer(
        caller.user, confirmation_id, agreed=body.agreed, conversation=conversation
    )
    return {"agreed": body.agreed}
