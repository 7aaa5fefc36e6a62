"""`/auth/login`, `/auth/callback` and `/auth/logout`: users sign in at the operator's OpenID provider, and sign out.

What a visitor of this browser left may be another person's. It becomes the user's only if the page has asked: then the
page begins by `POST`, which no other page can send. A cookie binds the sign-in to the browser that began it, so that no
link can sign a user in to another person's account.
"""

import hmac
from typing import Annotated
from urllib.parse import urljoin

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from backend.access.credentials import cookie_name
from backend.errors import MemoryUnavailable, NotFound, SignInFailed
from backend.extensions.oidc.provider import OpenIdProvider, SignIn
from backend.http.admission import set_cookie
from backend.http.context import CERTAIN, Caller, Context, Here
from backend.observability.security_log import SecurityEvent, security_event

SIGN_IN_WITHIN_S = 600
"""The longest time, in seconds, that a user may take to sign in at the provider."""
PENDING = "sign-in"
"""The cookie of a browser that is signing in."""
HINT = "id-token"
"""The cookie with the user's ID token, for the provider when they sign out. It is stored nowhere else."""
HINT_CHARS = 3_800
"""The most characters of an ID token that a cookie can hold."""
HINT_PATH = "/auth"
CODE_CHARS = 2_048
DECLINED = "access_denied"
"""The provider's error code for a user who declined (RFC 6749, section 4.1.2.1)."""

router = APIRouter(tags=["sign-in"])


@router.get("/auth/state", dependencies=CERTAIN)
async def state(here: Here, caller: Caller) -> dict[str, bool]:
    """Return whether users may sign in here (`offered`), whether this one has (`signed_in`), and whether a visitor has
    left something that they can take along (`left`). 503 while it cannot be checked.
    """
    offered, credential = OpenIdProvider in here.services.opened, caller.principal.credential
    left = offered and credential == "cookie" and bool(await here.services.data.memory.export_user(caller.user))
    return {"offered": offered, "signed_in": credential == "oidc", "left": left}


@router.get("/auth/login", status_code=303, response_class=RedirectResponse)
@router.post("/auth/login")
async def login(request: Request, here: Here, caller: Caller) -> Response:
    """Send the browser to the provider. 404 where signing in is off, 503 when the provider does not answer.

    By `POST`, the user takes along what the visitor left, and the answer names the provider's page in `location`.
    """
    await here.messages.take(f"sign-in {caller.principal.address}", here.now())
    provider, takes_along = _provider(here), request.method == "POST"
    visitor = caller.user if takes_along and caller.principal.credential == "cookie" else ""
    begun = SignIn(urljoin(str(request.base_url), "/auth/callback"), visitor, caller.epoch)
    ticket = await here.services.people.access_store.put_ticket(msgspec.json.encode(begun), SIGN_IN_WITHIN_S)
    location = await provider.begin(ticket, begun)
    answer = JSONResponse({"location": location}) if takes_along else RedirectResponse(location, 303)
    answer.headers.append("set-cookie", set_cookie(request.url.scheme, ticket, SIGN_IN_WITHIN_S, PENDING))
    return answer


@router.get("/auth/callback", status_code=303, response_class=RedirectResponse)
async def callback(
    request: Request,
    here: Here,
    caller: Caller,
    state: Annotated[str, Query(max_length=128)] = "",
    code: Annotated[str, Query(max_length=CODE_CHARS)] = "",
    error: Annotated[str, Query(max_length=128)] = "",
) -> Response:
    """Take the provider's answer, sign the user in, and show the page. A user who declined sees the page, too.

    401 for an answer that matches no sign-in under way.
    """
    await here.messages.take(f"sign-in {caller.principal.address}", here.now())
    provider, scheme = _provider(here), request.url.scheme
    if error == DECLINED:
        security_event(SecurityEvent.SIGN_IN_FAILED, caller.principal, "declined at the OpenID provider")
        return RedirectResponse("/", 303)
    shown = request.cookies.get(cookie_name(scheme, PENDING), "")
    found = await here.services.people.access_store.take_ticket(state) if state else None
    if found is None or not hmac.compare_digest(shown.encode(), state.encode()):
        raise SignInFailed("This sign-in was not started here, or has expired.", hint="Start again at /auth/login.")
    if not code:
        raise SignInFailed("The provider did not sign you in.", hint="Start again at /auth/login.")
    begun = msgspec.json.decode(found, type=SignIn)
    signed_in = await provider.finish(code, begun)
    data = await _link(here, signed_in.account, begun)
    epoch = await here.services.people.access_store.epoch(signed_in.account)
    if epoch is None:
        raise MemoryUnavailable("You cannot be signed in now.", hint="Start again in a moment, at /auth/login.")
    answer = RedirectResponse("/", 303)
    life_s = provider.session_s
    cookie = here.signatures.cookie(signed_in.account, epoch, admin=signed_in.admin, data=data, life_s=life_s)
    answer.headers.append("set-cookie", set_cookie(scheme, cookie, life_s))
    answer.headers.append("set-cookie", set_cookie(scheme, "", 0, PENDING))
    if len(signed_in.id_token) <= HINT_CHARS:
        answer.headers.append("set-cookie", set_cookie(scheme, signed_in.id_token, life_s, HINT, HINT_PATH))
    security_event(SecurityEvent.SIGNED_IN, caller.principal, "by the OpenID provider", admin=int(signed_in.admin))
    return answer


@router.post("/auth/logout")
async def logout(request: Request, response: Response, here: Here, caller: Caller) -> dict[str, bool | str]:
    """Sign the user out, in every browser. 503 when the memory store is unavailable: try again.

    `location`, if not empty, is where the browser has to go for the provider to end its own session.
    """
    if caller.principal.credential != "oidc":
        return {"ok": True}
    await here.services.people.access_store.revoke(caller.account)
    security_event(SecurityEvent.CREDENTIALS_REVOKED, caller.principal, "signed out")
    response.headers.append("set-cookie", set_cookie(request.url.scheme, "", 0))
    response.headers.append("set-cookie", set_cookie(request.url.scheme, "", 0, HINT, HINT_PATH))
    hint = request.cookies.get(HINT, "")
    return {"ok": True, "location": await _provider(here).sign_out_address(str(request.base_url), hint)}


async def _link(here: Context, account: str, begun: SignIn) -> str:
    """Link the visitor to the account, and return the id of its data. The visitor's own calls and permissions end."""
    services = here.services
    data = await services.people.access_store.link(account, begun.visitor, begun.epoch)
    if data == begun.visitor:
        for session in await services.calls.sessions.owned_by(data):
            await session.end("signed_in")
        await services.people.budgets.billing.erase(data)
        await services.work.confirmations.erase(data)
    return data


def _provider(here: Context) -> OpenIdProvider:
    if OpenIdProvider not in here.services.opened:
        raise NotFound("Sign-in is off on this server.", hint="Set ACCESS=oidc and OIDC__ISSUER.")
    return here.of(OpenIdProvider)
