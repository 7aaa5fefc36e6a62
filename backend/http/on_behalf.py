"""Programs that speak for the users of another platform: a chat bot, say, names who wrote to it with each request.

The bearer of a token with the grant `on_behalf` says so in the body of a typed turn (`user_id` and `platform`), or for
any other part of the API with the header `X-On-Behalf-Of: platform:user`. Such users are apart from those of the page
and of tokens: their id is made from both names, and no visitor, sign-in or key can have it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from starlette.requests import HTTPConnection

from backend.access.principal import USER_GRANTS, Grant, Principal, ToolScope
from backend.errors import BadRequest, Forbidden
from backend.http.context import identity_of

HEADER = "x-on-behalf-of"
USER_LIMIT = 128
GRANTS = USER_GRANTS - {Grant.CALL}
"""What a program may do for a user it speaks for, beside what it may do itself."""
TURNS = ("/api/multiturn", "/api/singleturn")
"""Where the body may name the user."""


def platform_user(platform: str, user_id: str) -> str:
    """Return the id under which a platform's user is kept here, always the same."""
    digest = hashlib.sha256(f"{platform}\0{user_id}".encode()).hexdigest()
    return f"@{platform}-{digest[:32]}"


def speak_for(connection: HTTPConnection, platform: str, user_id: str) -> Principal:
    """Make a platform's user the one who makes this request, and return the principal. Raises `Forbidden`."""
    identity = identity_of(connection)
    principal = identity.principal
    if Grant.ON_BEHALF not in principal.grants:
        raise Forbidden(
            "Only the operator's programs may act for a user.",
            hint="Leave user_id out, or send a token that grants on_behalf.",
        )
    user = platform_user(platform, user_id)
    identity.principal = replace(principal, user=user, scope=ToolScope.SIGNED_IN, grants=GRANTS)
    return identity.principal


def speak_by_header(connection: HTTPConnection, grant: Grant | None) -> None:
    """Make the user in the header the one who makes this request, if it asks for nothing but a user's grant.

    Raises `BadRequest` or `Forbidden`.
    """
    named = connection.headers.get(HEADER, "").strip()
    if not named or (grant is not None and grant not in GRANTS):
        return
    platform, colon, user_id = named.partition(":")
    if not (colon and user_id and len(user_id) <= USER_LIMIT and _is_platform(platform)):
        raise BadRequest("X-On-Behalf-Of names no user.", hint="Write platform:user, e.g. discord:80351110224678912.")
    speak_for(connection, platform, user_id)


def may_name_user(principal: Principal, prefix: str) -> bool:
    """Return whether this is a program, and the body of its request has yet to name the user."""
    return prefix in TURNS and Grant.ON_BEHALF in principal.grants


def _is_platform(text: str) -> bool:
    return 1 <= len(text) <= 32 and all(letter.isascii() and (letter.isalnum() or letter in "_.-") for letter in text)
