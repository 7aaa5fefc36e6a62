"""The place at which the echo of our own voice is taken out of what a caller's microphone sends."""

from __future__ import annotations

from backend.media.frame import Frame


class EchoGuard:
    """One call's guard. This one leaves every frame as it is; an extension may bring one that cancels echo."""

    def played(self, frame: Frame | None) -> None:
        """Note what was sent to the caller in a slot of 20 ms; None for silence."""

    def clean(self, frame: Frame) -> Frame:
        """Return a received frame without echo: itself, as a rule."""
        return frame
