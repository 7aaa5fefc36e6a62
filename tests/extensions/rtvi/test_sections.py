"""Video is removed from offers, and stands in answers as inactive, in its place."""

import pytest

from backend.errors import BadOffer
from backend.extensions.rtvi.sections import with_video, without_video

HEAD = ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"]
AUDIO = ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", "a=ice-ufrag:abcd", "a=sendrecv", "a=rtpmap:111 opus/48000/2"]
VIDEO = ["m=video 9 UDP/TLS/RTP/SAVPF 96 97", "a=mid:1", "a=sendrecv", "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000"]
SCREEN = ["m=video 9 UDP/TLS/RTP/SAVPF 98", "a=mid:2", "a=sendonly", "a=rtpmap:98 H264/90000", "a=fmtp:98 x=1"]
DATA = ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:3", "a=sctp-port:5000"]


def sdp(*sections: list[str], group: str) -> str:
    return "".join(f"{line}\r\n" for line in [*HEAD, f"a=group:BUNDLE {group}", *(x for s in sections for x in s)])


def test_an_offer_loses_its_video_and_its_place_in_the_bundle() -> None:
    assert without_video(sdp(AUDIO, VIDEO, SCREEN, DATA, group="0 1 2 3")) == sdp(AUDIO, DATA, group="0 3")


def test_an_answer_has_as_many_sections_as_its_offer_and_its_video_is_inactive() -> None:
    offer = sdp(AUDIO, VIDEO, SCREEN, DATA, group="0 1 2 3")
    ours = ["a=ice-ufrag:ours", "a=ice-pwd:secret", "a=fingerprint:sha-256 AA", "a=setup:active"]
    answer = with_video(sdp([*AUDIO, *ours], [*DATA, *ours], group="0 3"), offer)
    lines = answer.splitlines()
    assert "a=group:BUNDLE 0 1 2 3" in lines
    kinds = [line.split()[0] for line in lines if line.startswith("m=")]
    assert kinds == ["m=audio", "m=video", "m=video", "m=application"]
    screen = lines[lines.index("m=video 9 UDP/TLS/RTP/SAVPF 98") :]
    screen = screen[: screen.index(DATA[0])]
    assert screen[1:7] == ["c=IN IP4 0.0.0.0", "a=inactive", "a=mid:2", "a=rtcp-mux", SCREEN[3], SCREEN[4]]
    assert set(ours) <= set(screen) and "a=rtpmap:97 rtx/90000" not in lines


def test_an_offer_with_too_much_is_refused() -> None:
    with pytest.raises(BadOffer, match="64 KB"):
        without_video("v=0\r\n" + "a=x\r\n" * 20_000)
