"""`/notification` sets, lists and cancels reminders, for users (by cookie) and the operator's programs (by token).

A cookie can see and set only its own user's reminders. A bearer token needs the grant `notify`, and acts for its own
user, or, with the grant `on_behalf`, for the user of its key that the request names.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, StrictBool, StringConstraints

from backend.access.tenants import Tenant
from backend.access.usage import WRITE
from backend.errors import Forbidden, NotFound, NotOwner
from backend.http.bodies import documented, read_body
from backend.http.context import Caller, Here, spend
from backend.http.on_behalf import tenant_at
from backend.runtime.json_objects import Json

ME = "me"
"""The name with which callers refer to themselves."""
NOTHING = "No such notification."
NOTHING_HINT = "GET /notification/me lists yours."
USER_ID = r"^[A-Za-z0-9._@-]{1,128}$"

router = APIRouter(tags=["notifications"])


class NewNotification(BaseModel):
    """`POST /notification`. Without `user`, it is for the caller; with `id`, the request may be repeated.

    If it is not `interruptible`, the user's voice does not interrupt it in a call.
    """

    model_config = ConfigDict(extra="forbid")

    user: Annotated[str, StringConstraints(pattern=USER_ID)] = ME
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    at: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    repeat: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = "none"
    time_zone: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    id: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    interruptible: StrictBool = True


async def acting_for(request: Request, here: Here, caller: Caller) -> Tenant | str:
    """Return the user for which the caller acts, and count the request; for a program, the users that it may name.

    Raises `TooMany`.
    """
    if tenant := await tenant_at(request):
        return tenant
    await here.messages.take(f"notification {caller.user}", here.now())
    return caller.user


ActingFor = Annotated[Tenant | str, Depends(acting_for)]


@router.post("/notification", status_code=201, openapi_extra=documented(NewNotification))
async def set_notification(request: Request, here: Here, acting_for: ActingFor) -> Json:
    """Set a reminder. 422 for a time that has passed or cannot be understood, 429 when there are too many."""
    body = await read_body(request, NewNotification)
    if isinstance(acting_for, str):
        await spend(request, WRITE)
    user = _named(body.user, acting_for)
    if not user:
        hint = "Name the user." if body.user == ME else "Leave `user` out: it is you."
        raise Forbidden("Reminders can only be set for yourself.", hint=hint)
    reminder = await here.services.news.reminders.set(
        user, body.text, body.at, body.repeat, body.time_zone, body.id, interruptible=body.interruptible
    )
    return {**reminder}


@router.post("/notification/execute")
async def execute_notifications(here: Here, acting_for: ActingFor) -> dict[str, int]:
    """Deliver the reminders that are due: the caller's, or those of all users that a program may name."""
    delivery = here.services.news.reminders.delivery
    if isinstance(acting_for, Tenant):
        return await delivery.execute(among=acting_for.reaches)
    return await delivery.execute(acting_for)


@router.get("/notification/{user_id}")
async def list_notifications(user_id: str, here: Here, acting_for: ActingFor) -> Json:
    """List the user's reminders, the next one first; `me` is the caller.

    `unreadable`, if present, counts those that only another version can read.
    """
    user, reminders = _own(user_id, acting_for), here.services.news.reminders
    unreadable = len(await reminders.reminders.unreadable_of(user))
    return {"notifications": await reminders.all_of(user)} | ({"unreadable": unreadable} if unreadable else {})


@router.delete("/notification/{user_id}/{notification_id}")
async def cancel_notification(user_id: str, notification_id: str, here: Here, acting_for: ActingFor) -> Json:
    """Cancel a reminder, even if it is due and not delivered yet."""
    canceled = await here.services.news.reminders.cancel(_own(user_id, acting_for), notification_id)
    if canceled is None:
        raise NotFound(NOTHING, hint=NOTHING_HINT)
    return {"canceled": canceled}


def _named(named: str, acting_for: Tenant | str) -> str:
    """Return the id of the user that `named` means; empty when the caller may not act for that user."""
    if isinstance(acting_for, Tenant):
        return "" if named == ME else acting_for.user(named)
    return acting_for if named in (ME, acting_for) else ""


def _own(user_id: str, acting_for: Tenant | str) -> str:
    user = _named(user_id[:128], acting_for)
    if not user:
        raise NotOwner(NOTHING, hint=NOTHING_HINT)
    return user
