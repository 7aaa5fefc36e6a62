"""The seam at which an extension removes the echo of the assistant's voice from a caller's microphone."""

from backend.media.frame import Frame


class EchoGuard:
    """The echo guard of one call. This one changes no frame; an extension may bring one that cancels echo."""

    def played(self, frame: Frame | None) -> None:
        """Note what was sent to the caller in a slot of 20 ms; None for silence."""

    def clean(self, frame: Frame) -> Frame:
        """Return a received frame without its echo."""
        return frame
