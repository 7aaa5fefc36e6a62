"""Removes the video section that RTVI clients always offer, and adds it to the answer as inactive. Pure.

An answer has as many sections as its offer (RFC 8829). A refused section would stop a track in the client, which finds
its tracks by their position. An inactive section costs nothing in the server, and changes nothing in the client.
"""

from collections.abc import Iterator

from backend.errors import BadOffer
from backend.transports.webrtc.offer import MAX_OFFER_BYTES

TRANSPORT = ("a=ice-ufrag:", "a=ice-pwd:", "a=ice-options:", "a=fingerprint:", "a=setup:")
"""Prefixes of the lines by which bundled sections share one transport."""
BUNDLE = "a=group:BUNDLE"


def without_video(offer: str) -> str:
    """Return the offer without its video sections. Raises `BadOffer`."""
    head, sections = _split(offer)
    kept = [section for section in sections if not _is_video(section)]
    return _joined(_bundled(head, kept), kept)


def with_video(answer: str, offer: str) -> str:
    """Extend the answer to an offer without its video to one for the whole `offer`, with inactive video."""
    head, answered = _split(answer)
    _, offered = _split(offer)
    shared = [line for line in answered[0] if line.startswith(TRANSPORT)] if answered else []
    rest = iter(answered)
    sections = [_inactive(section, shared) if _is_video(section) else next(rest, section) for section in offered]
    return _joined(_bundled(head, sections), sections)


def _inactive(offered: list[str], shared: list[str]) -> list[str]:
    """Return a section that answers `offered` with its first codec, and says that nothing is sent or received."""
    parts = offered[0].split()
    codec = parts[3] if len(parts) > 3 else "0"
    about = [line for line in offered if line.startswith((f"a=rtpmap:{codec} ", f"a=fmtp:{codec} "))]
    mid = [line for line in offered if line.startswith("a=mid:")]
    first = f"m=video 9 {parts[2] if len(parts) > 2 else 'UDP/TLS/RTP/SAVPF'} {codec}"
    return [first, "c=IN IP4 0.0.0.0", "a=inactive", *mid, "a=rtcp-mux", *about, *shared]


def _split(sdp: str) -> tuple[list[str], list[list[str]]]:
    """Return the lines before the first section, and the lines of each section. Raises `BadOffer`."""
    if len(sdp) > MAX_OFFER_BYTES:
        raise BadOffer("The offer is larger than 64 KB.")
    head: list[str] = []
    sections: list[list[str]] = []
    for line in sdp.splitlines():
        if line.startswith("m="):
            sections.append([])
        (sections[-1] if sections else head).append(line)
    return head, sections


def _bundled(head: list[str], sections: list[list[str]]) -> Iterator[str]:
    """Yield the lines of `head`, with groups that name only sections that are left."""
    mids = [line.removeprefix("a=mid:") for section in sections for line in section if line.startswith("a=mid:")]
    for line in head:
        yield " ".join([BUNDLE, *mids]) if line.startswith(BUNDLE) else line


def _joined(head: Iterator[str], sections: list[list[str]]) -> str:
    return "".join(f"{line}\r\n" for line in [*head, *(line for section in sections for line in section)])


def _is_video(section: list[str]) -> bool:
    return section[0].startswith("m=video ")
