"""`/notification` sets, lists and cancels reminders, for users (by cookie) and the operator's programs (by token).

A cookie acts for its own user, and no other: it can neither see another's reminders nor set them. A bearer
token needs the grant `notify`, and acts for its own user, or, with the grant `on_behalf`, for the user it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, StrictBool, StringConstraints

from backend.access.credentials import bearer
from backend.access.principal import Grant
from backend.access.usage import WRITE
from backend.errors import Forbidden, NotAdmitted, NotFound, NotTheirs
from backend.http.bodies import documented, read_body
from backend.http.context import Context, Here, context_of, identity_of, principal_of, spend
from backend.runtime.json_objects import Json

ME = "me"
"""The name by which callers mean themselves."""
NOTHING = "No such notification."
NOTHING_HINT = "GET /notification/me lists yours."
USER_ID = r"^[A-Za-z0-9._@-]{1,128}$"

router = APIRouter(tags=["notifications"])


class NewNotification(BaseModel):
    """`POST /notification`. `user` is the caller when left out; `id` makes sending it again harmless.

    In a call, the user's voice does not interrupt one that is not `interruptible`.
    """

    model_config = ConfigDict(extra="forbid")

    user: Annotated[str, StringConstraints(pattern=USER_ID)] = ME
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    at: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    repeat: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = "none"
    time_zone: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    id: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    interruptible: StrictBool = True


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller: a user, or a program that acts for one user, or for any when `user` is empty."""

    user: str

    async def take(self, here: Context) -> None:
        """Spend one of a user's requests; a program that acts for any has no limit. Raises `TooMany`."""
        if self.user:
            await here.messages.take(f"notification {self.user}", here.now())

    def user_named(self, named: str) -> str | None:
        """Return the user meant by `named`; None when this caller may not act for them."""
        if named == ME:
            return self.user or None
        return named if not self.user or named == self.user else None


async def actor(request: Request) -> Actor:
    """Return the caller. Raises `NotAdmitted` for a token that is none of ours."""
    principal, here = principal_of(request), context_of(request)
    if Grant.ON_BEHALF in principal.grants:
        return Actor("")
    if (
        not principal.credential.startswith("key ")
        and bearer(request) is not None
        and identity_of(request).opened is None
    ):
        await here.attempts.take(principal.address, here.now())
        raise NotAdmitted("The token is not valid.", hint="Send a token with the grant notify, or only the cookie.")
    return Actor(principal.user)


Acting = Annotated[Actor, Depends(actor)]


@router.post("/notification", status_code=201, openapi_extra=documented(NewNotification))
async def set_notification(request: Request, here: Here, acting: Acting) -> Json:
    """Set a reminder. 422 for a time that has passed or cannot be understood, 429 when there are too many."""
    await acting.take(here)
    body = await read_body(request, NewNotification)
    if acting.user:
        await spend(request, WRITE)
    user = acting.user_named(body.user)
    if user is None:
        hint = "Name the user." if body.user == ME else "Leave `user` out: it is you."
        raise Forbidden("Reminders can only be set for yourself.", hint=hint)
    reminder = await here.services.news.reminders.set(
        user, body.text, body.at, body.repeat, body.time_zone, body.id, interruptible=body.interruptible
    )
    return {**reminder}


@router.post("/notification/execute")
async def execute_notifications(here: Here, acting: Acting) -> dict[str, int]:
    """Deliver the reminders due now: the caller's, or, for a program that may act for anybody, everybody's."""
    await acting.take(here)
    return await here.services.news.reminders.delivery.execute(acting.user or None)


@router.get("/notification/{user_id}")
async def list_notifications(user_id: str, here: Here, acting: Acting) -> Json:
    """List the user's reminders, the next one first; `me` is the caller.

    `unreadable` counts those that only another version can read, if any.
    """
    user, reminders = _own(user_id, acting), here.services.news.reminders
    unreadable = len(await reminders.reminders.unreadable_of(user))
    return {"notifications": await reminders.all_of(user)} | ({"unreadable": unreadable} if unreadable else {})


@router.delete("/notification/{user_id}/{notification_id}")
async def cancel_notification(user_id: str, notification_id: str, here: Here, acting: Acting) -> Json:
    """Cancel a reminder, even one that is due and was not delivered yet."""
    canceled = await here.services.news.reminders.cancel(_own(user_id, acting), notification_id)
    if canceled is None:
        raise NotFound(NOTHING, hint=NOTHING_HINT)
    return {"canceled": canceled}


def _own(user_id: str, acting: Actor) -> str:
    user = acting.user_named(user_id[:128])
    if user is None:
        raise NotTheirs(NOTHING, hint=NOTHING_HINT)
    return user
