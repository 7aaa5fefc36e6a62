"""SDP offers in the forms that browsers send, and functions that change them."""

FINGERPRINT = ":".join(["AB"] * 32)

CHROMIUM = (
    """v=0
o=- 5992864400334706077 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
a=extmap-allow-mixed
a=msid-semantic: WMS stream
m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
c=IN IP4 0.0.0.0
a=rtcp:9 IN IP4 0.0.0.0
a=candidate:1552573651 1 udp 2113937151 f989a2fe-6c68-4246-94fb-069d49f609a9.local 47465 typ host generation 0
a=ice-ufrag:xU99
a=ice-pwd:LRdIc/FNPq6MHgC6Q09hxvTW
a=ice-options:trickle
a=fingerprint:sha-256 %(fingerprint)s
a=setup:actpass
a=mid:0
a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=sendrecv
a=msid:stream track
a=rtcp-mux
a=rtcp-rsize
a=rtpmap:111 opus/48000/2
a=rtcp-fb:111 transport-cc
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:63 red/48000/2
a=fmtp:63 111/111
a=rtpmap:9 G722/8000
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:13 CN/8000
a=rtpmap:110 telephone-event/48000
a=rtpmap:126 telephone-event/8000
a=ssrc:222909738 cname:ctVAKPmNuB3k7MQm
a=ssrc:222909738 msid:stream track
""".replace("\n", "\r\n")
    % {"fingerprint": FINGERPRINT}
)

FIREFOX = (
    """v=0
o=mozilla...THIS_IS_SDPARTA-99.0 4858251974351650128 0 IN IP4 0.0.0.0
s=-
t=0 0
a=fingerprint:sha-256 %(fingerprint)s
a=group:BUNDLE 0
a=ice-options:trickle
a=msid-semantic:WMS *
m=audio 47465 UDP/TLS/RTP/SAVPF 109 9 0 8 101
c=IN IP4 0.0.0.0
a=candidate:0 1 UDP 2122252543 5e2a6e29-86bd-4b8e-8a68-b47b7f4d0ff9.local 47465 typ host
a=candidate:1 1 TCP 2105524479 5e2a6e29-86bd-4b8e-8a68-b47b7f4d0ff9.local 9 typ host tcptype active
a=sendrecv
a=end-of-candidates
a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
a=fmtp:101 0-15
a=ice-pwd:9dfbe0efb5d0a7bcd1b3c7a3b0ee1a6c
a=ice-ufrag:2a1f3a1d
a=mid:0
a=msid:- {5e2a6e29-86bd-4b8e-8a68-b47b7f4d0ff9}
a=rtcp-mux
a=rtpmap:109 opus/48000/2
a=rtpmap:9 G722/8000/1
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000/1
a=setup:actpass
a=ssrc:1382246593 cname:{f989a2fe-6c68-4246-94fb-069d49f609a9}
""".replace("\n", "\r\n")
    % {"fingerprint": FINGERPRINT}
)


def without(sdp: str, prefix: str) -> str:
    """The offer without the lines that begin with `prefix`."""
    return "".join(line for line in sdp.splitlines(keepends=True) if not line.startswith(prefix))


def candidate(host: str, port: int) -> str:
    """The line of a host candidate."""
    return f"a=candidate:1 1 udp 2122260223 {host} {port} typ host"


def with_candidates(sdp: str, lines: list[str]) -> str:
    """The offer with only these candidates, and the mark that no more follow."""
    ended = [*lines, "a=end-of-candidates"]
    return without(without(sdp, "a=candidate"), "a=end-of-candidates") + "".join(f"{line}\r\n" for line in ended)
