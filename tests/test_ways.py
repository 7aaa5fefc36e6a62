"""The ways of audio through the server pass the files that docs/architecture.md lists, in a real call over loopback."""

from pathlib import Path

from backend.media.clock import MediaClock, MediaSlot
from backend.responders.realtime import RealtimeConnection
from tests.http.world import place_call, world
from tests.support.real_call import real_call
from tests.support.speech import speech
from tests.support.waiting import until
from tests.support.ways import documented, files_passed, files_passed_within

OFFER_MOST = 21
MICROPHONE_MOST = 21
REPLY_MOST = 16
STAND_IN = {"media/playout.py", "transports/base.py"}
"""The files of the line that stands in for WebRTC."""
TURN_MACHINE = "turns/turn.py"
RECEIVING = "media/receive.py"


async def test_an_offer_passes_few_files_before_webrtc(tmp_path: Path) -> None:
    met: list[int] = []

    async def accept(_sdp: str) -> None:
        met.append(len(passed - STAND_IN))

    async with world(tmp_path, accept=accept) as here, here.browser() as browser:
        with files_passed() as passed:
            await place_call(browser)
        passed.report("an offer, with the call's beginning")
    assert met[0] <= OFFER_MOST


async def test_a_microphone_frame_passes_the_files_listed() -> None:
    listed = set(documented("microphone frame"))
    async with real_call() as (_, _transport, caller, provider):
        caller.say(speech("Please tell me about the weather in Seattle, and about the weather in Paris."))
        await until(lambda: provider.appended > 1, 10)
        with files_passed_within(MediaClock._read) as readings:

            def passed() -> set[str]:
                # Only frames in mid-speech: those at which speech begins or ends also pass the turn machine.
                return set().union(*(files for files in readings if TURN_MACHINE not in files))

            # Frames rather than messages are counted, since a slow machine cuts the sentence and sends less of it.
            await until(lambda: sum(RECEIVING in files for files in readings) >= 50 and passed() >= listed, 10)
    assert passed() == listed
    assert len(listed) <= MICROPHONE_MOST


async def test_reply_audio_passes_the_files_listed() -> None:
    async with real_call() as (call, transport, caller, provider):
        call.live.type_text("Tell me a story.")
        await until(lambda: transport.queued_ms > 0, 10)
        await until(lambda: any(heard.audible for heard in caller.received.frames), 10)
        with files_passed_within(RealtimeConnection.process_event, MediaSlot.serve) as steps:

            def inward() -> list[set[str]]:
                return [files for files in steps if TURN_MACHINE in files]

            def outward() -> list[set[str]]:
                sent = [files for files in steps if "transports/webrtc/transport.py" in files]
                return [files for files in sent if not files & {RECEIVING, TURN_MACHINE}]

            def passed() -> set[str]:
                return set().union(*inward(), *outward())

            provider.sounding.set()
            await until(lambda: len(outward()) >= 20 and passed() >= set(documented("reply audio")), 10)
    assert sorted(passed()) == sorted(documented("reply audio"))
    assert len(passed()) <= REPLY_MOST
