"""The check of a caller's SDP offer, which is also reduced to what is allowed before anything is opened for it. Pure.

Only one form is answered: one audio section that sends and receives, with Opus, and behind it, in calls over the
Realtime protocol, the data channels on the same transport. Everything else (video, more sections) would cost sockets,
threads and decoders that a voice call does not need.

These parts of an offer are removed:
- candidates beyond `MAX_CANDIDATES`, and those our address policy refuses: each makes the server send packets to
  an address of the sender's choice, and 12 KB of them would make it send 1,400;
- `.local` names (browsers hide addresses behind them): resolving them takes a second and mostly fails. The caller
  checks our addresses anyway, and its first packet shows its own (RFC 8445, 7.3.1.3);
- `end-of-candidates`, since no candidate may be left by now, and ICE would give up before that packet.
"""

import ipaddress
import re

from backend.errors import BadOffer

MAX_OFFER_BYTES = 64 * 1024
MAX_CANDIDATES = 10
MAX_LINES = 1_000

_UFRAG = re.compile(r"[A-Za-z0-9+/]{4,256}")
_PASSWORD = re.compile(r"[A-Za-z0-9+/]{22,256}")
_FINGERPRINT = re.compile(r"sha-(256|384|512) ([0-9A-F]{2})(:[0-9A-F]{2})+", re.IGNORECASE)
_OPUS = re.compile(r"a=rtpmap:(\d{1,3}) opus/48000/2", re.IGNORECASE)
_PAUSES = re.compile(r"^a=fmtp:\d{1,3} (?:.*;)? *usedtx=1\b", re.MULTILINE | re.IGNORECASE)
_DATA_SECTION = "\r\nm=application "
_CANDIDATE_TYPES = frozenset({"host", "srflx", "relay"})


def sanitise_offer(sdp: str, *, data: bool = False) -> str:
    """Return the offer reduced to what is allowed, with `data` channels or without. Raises `BadOffer`."""
    lines = _lines(sdp)
    _check_sections(lines, data)
    _check_credentials(lines)
    return "".join(f"{line}\r\n" for line in _keep_few_candidates(lines))


def asks_for_pauses(offer: str) -> bool:
    """Return whether the caller asks for pauses (DTX) in what it is sent (RFC 7587, 7.1)."""
    return _PAUSES.search(offer) is not None


def asks_for_data(offer: str) -> bool:
    """Return whether the caller wants data channels."""
    return _DATA_SECTION in offer


def allow_candidate(value: str) -> bool:
    """Return whether to try a candidate, given as the text after `candidate:`.

    Private and loopback addresses are allowed: callers on the same network, or on this very machine, are common in a
    first try, and a check is only one small STUN packet.
    """
    parts = value.split()
    if len(parts) < 8 or parts[1] != "1" or parts[2].lower() != "udp" or parts[7] not in _CANDIDATE_TYPES:
        return False  # not the one component, UDP and types that are answered
    if not parts[5].isdecimal() or not 1 <= int(parts[5]) <= 65_535 or not parts[3].isdecimal():
        return False
    return allow_address(parts[4])


def allow_address(host: str) -> bool:
    """Return whether packets may be sent to `host`: the IP address of one machine, no name, group or link-local."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return not (address.ipv4_mapped or address.is_multicast or address.is_unspecified or address.is_link_local)
    return not (address.is_multicast or address.is_unspecified or address.is_link_local or address.is_reserved)


def _lines(sdp: str) -> list[str]:
    if len(sdp) > MAX_OFFER_BYTES:
        raise BadOffer("The offer is larger than 64 KB.")
    lines = [line for raw in sdp.replace("\r\n", "\n").split("\n") if (line := raw.strip())]
    if not lines or lines[0] != "v=0" or len(lines) > MAX_LINES:
        raise BadOffer("This is not an SDP offer.")  # or too long to be looked through
    return lines


def _check_sections(lines: list[str], data: bool) -> None:
    sections = [line for line in lines if line.startswith("m=")]
    if data and len(sections) == 2 and sections[1].startswith("m=application "):
        _check_data(lines, sections.pop())  # the only second section that is answered
    if len(sections) != 1 or not sections[0].startswith("m=audio "):
        besides = "" if not data else ", but for one of data channels behind it"
        raise BadOffer(f"The offer must have one audio section and no other{besides}.")
    if any(f"a={direction}" in lines for direction in ("sendonly", "recvonly", "inactive")):
        raise BadOffer("The offer's audio must go both ways.")
    offered = sections[0].split()[3:]
    if not any((match := _OPUS.fullmatch(line)) and match[1] in offered for line in lines):
        raise BadOffer("The offer does not include Opus.")


def _check_data(lines: list[str], section: str) -> None:
    if section.split()[2:] != ["UDP/DTLS/SCTP", "webrtc-datachannel"]:
        raise BadOffer("The offer's data section is not one of WebRTC data channels.")
    named = [mid for line in lines if line.startswith("a=group:BUNDLE ") for mid in line.split()[1:]]
    if named != _values(lines, "mid"):
        raise BadOffer("The offer must bundle its data channels with its audio.")


def _check_credentials(lines: list[str]) -> None:
    if not any(_UFRAG.fullmatch(value) for value in _values(lines, "ice-ufrag")):
        raise BadOffer("The offer has no usable ICE user name.")
    if not any(_PASSWORD.fullmatch(value) for value in _values(lines, "ice-pwd")):
        raise BadOffer("The offer has no usable ICE password.")
    if not any(_FINGERPRINT.fullmatch(value) for value in _values(lines, "fingerprint")):
        raise BadOffer("The offer has no certificate fingerprint (SHA-256 or longer).")
    if not any(value in ("actpass", "active", "passive") for value in _values(lines, "setup")):
        raise BadOffer("The offer does not say which side sets up DTLS.")


def _values(lines: list[str], attribute: str) -> list[str]:
    prefix = f"a={attribute}:"
    return [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]


def _keep_few_candidates(lines: list[str]) -> list[str]:
    kept = []
    candidates = 0
    for line in lines:
        if line == "a=end-of-candidates":
            continue
        if line.startswith("a=candidate:"):
            if candidates == MAX_CANDIDATES or not allow_candidate(line.removeprefix("a=candidate:")):
                continue
            candidates += 1
        kept.append(line)
    return kept
