"""Programs may speak for the users of another platform: a chat bot, for example, names its user in each request.

The bearer of a token with the grant `on_behalf` names the user in the body of a typed turn (`user_id` and `platform`),
or elsewhere in the header `X-On-Behalf-Of: platform:user`. These users are separate from those of the page and of
tokens: their id is made from both names, and no visitor, sign-in or key can have it.
"""

import hashlib
from dataclasses import replace

from starlette.requests import HTTPConnection

from backend.access.principal import USER_GRANTS, Grant, Principal, ToolScope
from backend.errors import BadRequest, Forbidden
from backend.http.context import identity_of

HEADER = "x-on-behalf-of"
USER_LIMIT = 128
GRANTS = USER_GRANTS - {Grant.CALL}
"""What a program may do for the user it speaks for, in addition to its own grants."""
TURNS = ("/api/multiturn", "/api/singleturn")
"""The paths at which the body may name the user."""


def platform_user(platform: str, user_id: str) -> str:
    """Return the user id of a platform's user, which is always the same."""
    digest = hashlib.sha256(f"{platform}\0{user_id}".encode()).hexdigest()
    return f"@{platform}-{digest[:32]}"


def speak_for(connection: HTTPConnection, platform: str, user_id: str) -> Principal:
    """Make a platform's user the principal of this request, and return it. Raises `Forbidden`."""
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
    """Make the user in the header the principal of this request, if the request needs only a user's grant.

    Raises `BadRequest` or `Forbidden`.
    """
    named = connection.headers.get(HEADER, "").strip()
    if not named or (grant is not None and grant not in GRANTS):
        return
    platform, colon, user_id = named.partition(":")
    # Both names must be there and within their limits: they make the user id.
    if not (colon and user_id and len(user_id) <= USER_LIMIT and _is_platform(platform)):
        raise BadRequest("X-On-Behalf-Of names no user.", hint="Write platform:user, e.g. discord:80351110224678912.")
    speak_for(connection, platform, user_id)


def may_name_user(principal: Principal, prefix: str) -> bool:
    """Return whether this is a program, and the body of its request may name the user."""
    return prefix in TURNS and Grant.ON_BEHALF in principal.grants


def _is_platform(text: str) -> bool:
    return 1 <= len(text) <= 32 and all(letter.isascii() and (letter.isalnum() or letter in "_.-") for letter in text)
