"""The sign-in with OpenID Connect: the authorisation code flow with PKCE (RFC 7636), `state` and `nonce`.

Authlib builds the requests and checks the claims; joserfc checks the signature. The requests use the server's HTTP
client. A user's id is a hash of the claims `iss` and `sub`: no name or address is stored. Both packages are in the
extra `oidc`, so they are imported when a user signs in.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
import msgspec

from backend.access.credentials import OIDC_USER
from backend.errors import SignInFailed, SignInUnavailable
from backend.extensions.oidc.settings import OidcSettings

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""The accepted signature algorithms of ID tokens. None of them uses the client's secret as its key."""
TIMEOUT_S = 10.0
LEEWAY_S = 60
"""Seconds by which the provider's clock may differ from ours."""
VERIFIER_BYTES = 48
"""Random bytes of a PKCE verifier, which has 64 characters as text (RFC 7636 allows 43 to 128)."""

Metadata = Mapping[str, object]


class SignIn(msgspec.Struct, frozen=True):
    """A sign-in under way, and the visitor who began it. Redis stores it; the provider's answer must match it."""

    redirect_uri: str
    visitor: str = ""
    epoch: int = 0
    nonce: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(24))
    verifier: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(VERIFIER_BYTES))


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """The user who has signed in."""

    account: str
    admin: bool
    id_token: str
    """The ID token, by which the provider knows who signs out."""


class OpenIdProvider:
    """The OpenID provider at which users sign in."""

    def __init__(self, settings: OidcSettings, http: httpx2.AsyncClient) -> None:
        self._settings = settings
        self._http = http
        self.session_s = settings.session_hours * 3_600
        """Seconds after which a user signs in again."""
        self._metadata: Metadata | None = None

    async def begin(self, state: str, sign_in: SignIn) -> str:
        """Return the address of the provider's sign-in page. Raises `SignInUnavailable`."""
        from authlib.oauth2.client import OAuth2Client

        metadata = await self._discovered()
        client = OAuth2Client(
            None, client_id=self._settings.client_id, scope=self._settings.scope, code_challenge_method="S256"
        )
        url, _ = client.create_authorization_url(
            str(metadata["authorization_endpoint"]),
            state=state,
            code_verifier=sign_in.verifier,
            nonce=sign_in.nonce,
            redirect_uri=sign_in.redirect_uri,
        )
        return str(url)

    async def finish(self, code: str, sign_in: SignIn) -> SignedInUser:
        """Exchange the code for the user who has signed in. Raises `SignInFailed`, or `SignInUnavailable`."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        metadata = await self._discovered()
        id_token = await self._exchanged(str(metadata["token_endpoint"]), code, sign_in)
        keys = await self._asked("GET", str(metadata["jwks_uri"]))
        try:
            token = jwt.decode(id_token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type]
            claims = CodeIDToken(
                token.claims,
                token.header,
                options={
                    "iss": {"essential": True, "value": self._settings.issuer},
                    "aud": {"essential": True, "value": self._settings.client_id},
                },
                params={"nonce": sign_in.nonce, "client_id": self._settings.client_id},
            )
            claims.validate(leeway=LEEWAY_S)
        except (JoseError, ValueError, TypeError) as error:
            raise SignInFailed(
                f"The provider's ID token is not valid ({type(error).__name__}).", hint="Sign in again."
            ) from None
        identity = f"{self._settings.issuer}\n{claims['sub']}"
        account = f"{OIDC_USER}{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
        return SignedInUser(account, self._is_admin(claims), id_token)

    async def sign_out_address(self, back: str, id_token: str) -> str:
        """Return the address at which the provider ends its session and sends the browser `back`.

        Empty if the provider has none, or does not answer: then only this server's session ends. `id_token` may be
        empty; some providers then ask the user, others refuse (OpenID Connect RP-Initiated Logout 1.0).
        """
        try:
            endpoint = (await self._discovered()).get("end_session_endpoint")
        except SignInUnavailable:
            return ""
        query = {"client_id": self._settings.client_id, "post_logout_redirect_uri": back}
        query |= {"id_token_hint": id_token} if id_token else {}
        return str(httpx2.URL(str(endpoint)).copy_merge_params(query)) if endpoint else ""

    async def _exchanged(self, endpoint: str, code: str, sign_in: SignIn) -> str:
        secret, client_id = self._settings.client_secret, self._settings.client_id
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": sign_in.redirect_uri,
            "code_verifier": sign_in.verifier,
            "client_id": client_id,
        }
        auth = httpx2.BasicAuth(client_id, secret.get_secret_value()) if secret else None
        answer = await self._asked("POST", endpoint, form, auth)
        id_token = answer.get("id_token")
        if not isinstance(id_token, str):
            raise SignInFailed("The provider gave no ID token.", hint="Sign in again.")
        return id_token

    async def _discovered(self) -> Metadata:
        """Return the provider's metadata, which is fetched once. Raises `SignInUnavailable`."""
        if self._metadata is None:
            found = await self._asked("GET", f"{self._settings.issuer}/.well-known/openid-configuration")
            if str(found.get("issuer", "")).rstrip("/") != self._settings.issuer:
                raise SignInUnavailable("The provider names another issuer than OIDC__ISSUER.")
            if missing := {"authorization_endpoint", "token_endpoint", "jwks_uri"} - found.keys():
                raise SignInUnavailable(f"The provider's metadata lack {', '.join(sorted(missing))}.")
            self._metadata = found
        return self._metadata

    async def _asked(
        self, method: str, url: str, form: dict[str, str] | None = None, auth: httpx2.BasicAuth | None = None
    ) -> dict[str, object]:
        try:
            answer = await self._http.request(method, url, data=form, auth=auth, timeout=TIMEOUT_S)
            if form is not None and answer.is_client_error:
                raise SignInFailed("The provider refused the sign-in.", hint="It may have expired: sign in again.")
            answer.raise_for_status()
            found = answer.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise SignInUnavailable(f"The provider does not answer ({type(error).__name__}).") from error
        if not isinstance(found, dict):
            raise SignInUnavailable("The provider's answer is not a JSON object.")
        return found

    def _is_admin(self, claims: Mapping[str, object]) -> bool:
        name, _, wanted = self._settings.admin_claim.partition("=")
        found = claims.get(name)
        if not name or found is None:
            return False
        return wanted in found if isinstance(found, list) else str(found) == wanted
