"""Tokens of Microsoft Entra for Azure OpenAI: requested in one of three documented ways, cached, and renewed in time.

- An application with a secret: OAuth 2's client credentials (learn.microsoft.com, "OAuth 2.0 client credentials flow").
- Workload identity: the same request, with the token of a Kubernetes service account as `client_assertion` in place of
  the secret; the file is read for every request, since Kubernetes replaces it.
- The managed identity of a machine: the Instance Metadata Service's `/metadata/identity/oauth2/token`.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx2
import msgspec

from backend.errors import ResponderRejected, ResponderUnavailable, SetupError
from backend.extensions.azure.settings import AzureOpenAISettings

IDENTITY_URL = "http://169.254.169.254/metadata/identity/oauth2/token"
WITHIN_S = 4.0
"""The most seconds that a token may take; they count towards the six that a connection may take."""
RENEW_BEFORE_S = 300.0
"""A new token is requested when the present one is valid for fewer seconds than this."""
PASSING = frozenset({404, 408, 410, 429})
"""The statuses of a metadata service that is being updated or that throttles us; a 5xx is temporary as well."""
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
HINT = "Check AZURE_OPENAI__*, and that the identity may use the resource (role Cognitive Services OpenAI User)."


class _Granted(msgspec.Struct):
    """The fields that are read of an answer with a token. The metadata service sends numbers as text."""

    access_token: str
    expires_in: int | str


class _Refused(msgspec.Struct):
    """The fields that are read of an answer without a token."""

    error: str = ""
    error_codes: list[int] = []


class EntraTokens:
    """The source of tokens. At most one request runs at a time; new connections wait for it."""

    def __init__(
        self,
        settings: AzureOpenAISettings,
        http: httpx2.AsyncClient,
        identity_url: str = IDENTITY_URL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`identity_url` is the address of the machine's metadata service."""
        self._settings = settings
        self._identity_url = identity_url
        self._http = http
        self._clock = clock
        self._token = ""
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def token(self) -> str:
        """Return a valid token. Raises `ResponderRejected` if Entra refuses one, else `ResponderUnavailable`."""
        async with self._asking:
            if self._clock() > self._until - RENEW_BEFORE_S:
                try:
                    await self._renew()
                except ResponderUnavailable:
                    if self._clock() >= self._until:
                        raise
            return self._token

    async def _renew(self) -> None:
        asked = self._clock()
        try:
            async with asyncio.timeout(WITHIN_S):
                answer = await self._http.send(await self._request())
        except (httpx2.HTTPError, OSError) as error:
            raise ResponderUnavailable(
                f"Could not get a Microsoft Entra token ({type(error).__name__}).", hint=HINT
            ) from None
        if answer.status_code != httpx2.codes.OK:
            raise _refusal(answer)
        try:
            granted = msgspec.json.decode(answer.content, type=_Granted)
            self._token, self._until = granted.access_token, asked + float(granted.expires_in)
        except (msgspec.MsgspecError, ValueError):
            raise ResponderUnavailable("Microsoft Entra's answer contains no token.", hint=HINT) from None

    async def _request(self) -> httpx2.Request:
        entra = self._settings
        if entra.managed_identity:
            query = {"api-version": "2018-02-01", "resource": entra.token_scope.removesuffix("/.default")}
            query |= {"client_id": entra.client_id} if entra.client_id else {}
            return self._http.build_request("GET", self._identity_url, params=query, headers={"Metadata": "true"})
        form = {"grant_type": "client_credentials", "client_id": entra.client_id, "scope": entra.token_scope}
        if entra.federated_token_file:
            assertion = (await asyncio.to_thread(entra.federated_token_file.read_text)).strip()
            form |= {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}
        else:
            form["client_secret"] = entra.client_secret.get_secret_value()
        return self._http.build_request(
            "POST", f"{entra.authority_url.rstrip('/')}/{entra.tenant_id}/oauth2/v2.0/token", data=form
        )


async def open_tokens(settings: AzureOpenAISettings, stack: AsyncExitStack) -> EntraTokens | None:
    """Return the source of tokens, if the settings name one. Raises `SetupError` if it is incomplete."""
    by_application = bool(settings.client_secret.get_secret_value() or settings.federated_token_file)
    if not by_application and not settings.managed_identity:
        return None
    if by_application and (settings.managed_identity or not (settings.tenant_id and settings.client_id)):
        raise SetupError(
            "The Microsoft Entra settings are incomplete, or name two ways to sign in.",
            hint="Set AZURE_OPENAI__TENANT_ID, _CLIENT_ID and _CLIENT_SECRET or _FEDERATED_TOKEN_FILE; or "
            "AZURE_OPENAI__MANAGED_IDENTITY alone.",
        )
    # The metadata service is part of the machine: Azure's documents say to reach it without a proxy.
    http = httpx2.AsyncClient(timeout=WITHIN_S, trust_env=not settings.managed_identity, follow_redirects=False)
    return EntraTokens(settings, await stack.enter_async_context(http))


def _refusal(answer: httpx2.Response) -> ResponderUnavailable:
    """Return the error, with Entra's codes and without its description, which names tenants and applications."""
    try:
        refused = msgspec.json.decode(answer.content, type=_Refused)
    except msgspec.MsgspecError:
        refused = _Refused()
    why = ", ".join([refused.error, *(f"AADSTS{code}" for code in refused.error_codes)]).strip(", ")
    message = f"Microsoft Entra gave no token (HTTP {answer.status_code}{f', {why}' if why else ''})."
    passes = answer.status_code in PASSING or answer.is_server_error
    return ResponderUnavailable(message, hint=HINT) if passes else ResponderRejected(message, hint=HINT)
