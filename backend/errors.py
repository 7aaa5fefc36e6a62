"""One tree holds every error that this server raises on purpose.

Its branches name the side at fault: the caller (4xx), the operator (set-up), this server, or a peer (a service that it
depends on). Foreign exceptions are translated where they enter, and nowhere else. `hint` says what the reader can do
next.
"""


class VoiceError(Exception):
    """The root of the tree. `str(error)` is safe to show: it never holds a secret or a caller's words."""

    hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint


# --- the caller's fault -------------------------------------------------------------------------------


class CallerError(VoiceError):
    """The request cannot be served as it is; the HTTP edge answers with `status`."""

    status = 400


class BadRequest(CallerError):
    """The request is well-formed, but its content is wrong (422)."""

    status = 422


class BadField(BadRequest):
    """One field of a request to the OpenAI-shaped API is wrong, or not supported."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str = "invalid_value",
        hint: str | None = None,
        status: int = 400,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.param = param
        self.code = code


class BadOffer(BadRequest):
    """The server cannot answer the SDP offer."""

    hint = "Send an SDP offer with one audio section that includes Opus."


class Conflict(CallerError):
    """The request conflicts with something under way."""

    status = 409


class TooLarge(CallerError):
    """The body is over the limit."""

    status = 413


class NotFound(CallerError):
    """The resource does not exist or is not the caller's own. The answer does not say which."""

    status = 404


class NotOwner(NotFound):
    """The resource belongs to another user. The caller sees a `NotFound`; only the security log tells the two apart."""


class Gone(CallerError):
    """The resource existed, and no longer does."""

    status = 410


class Forbidden(CallerError):
    """The request's origin is not allowed."""

    status = 403


class Misdirected(CallerError):
    """The request is addressed to a host name that is not this server's (RFC 9110, 15.5.20)."""

    status = 421


class NotAdmitted(CallerError):
    """The request lacks the credential that it needs."""

    status = 401


class SignInFailed(NotAdmitted):
    """A caller returned from the OpenID provider without being signed in."""


class TooMany(CallerError):
    """A limit is reached; try again in `retry_after_s` seconds."""

    status = 429

    def __init__(self, message: str, *, retry_after_s: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class Overloaded(TooMany):
    """The server is full for the moment, whatever the caller does (503)."""

    status = 503


class OverBudget(TooMany):
    """The caller has used up a daily budget."""


class CeilingReached(Overloaded):
    """All users together have used up the server's daily budget."""


# --- the operator's fault -----------------------------------------------------------------------------


class SetupError(VoiceError):
    """The server cannot start, or a part of it cannot, until the operator changes something."""


class SettingsError(SetupError):
    """A setting is missing or wrong."""


class MissingLibrary(SetupError):
    """A native library or program is not installed."""


class BadPlugin(SetupError):
    """A Thinker, tool or step file does not define what its registry needs."""


# --- our own fault ------------------------------------------------------------------------------------


class MediaFailed(VoiceError):
    """This server's own audio path failed: an encoder, a decoder or the playout. The call ends."""

    hint = "Call again; the server's log says why."


# --- a peer's fault -----------------------------------------------------------------------------------


class PeerError(VoiceError):
    """A service that the server depends on failed; `retryable` says whether trying again can help."""

    retryable = True


class TransportLost(PeerError):
    """The connection to the caller was lost."""

    retryable = False


class NeverConnected(TransportLost):
    """The caller requested a call and never connected."""


class LineFailed(PeerError):
    """The telephone network or its provider refused a request; the call goes on."""


class ResponderUnavailable(PeerError):
    """The Responder's connection could not be made, or was lost."""


class ResponderRejected(ResponderUnavailable):
    """The Responder's provider refuses for good: because of the key, the quota, the account or the billing."""

    retryable = False


class ModelUnavailable(PeerError):
    """A text model failed, and so did its fallback."""

    reason: str = ""
    """Why the last attempt failed, in a word (`models.chat_completions.Reason`)."""


class SignInUnavailable(PeerError):
    """The OpenID provider does not answer, or its answer is wrong."""

    hint = "Try again in a moment. If it keeps failing, the operator should check OIDC__ISSUER."


class EmbeddingUnavailable(PeerError):
    """No embedding model is configured, or it failed."""


class MemoryUnavailable(PeerError):
    """Redis did not answer in time."""


class LedgerUnavailable(PeerError):
    """The ledger's database did not answer in time."""

    hint = "Try again in a moment. If it keeps failing, the operator should check DATABASE_URL."


class ToolFailed(PeerError):
    """A tool could not do its work."""


class BadMoment(ToolFailed):
    """A date, a time or a recurrence rule cannot be understood, or is not possible."""

    retryable = False


class NoAnswer(PeerError):
    """A Thinker produced no answer."""


class ThinkerTimeout(NoAnswer):
    """A Thinker was still at work when its deadline came."""
