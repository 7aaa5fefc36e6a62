"""Whole calls by SIP: the server as a process, baresip and our own telephone that speak and listen."""

import asyncio
import re
import wave
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiosipua.auth import SipDigestAuth

from backend.media.resample import resample
from tests.extensions.sip.sip_phone import HERE, free_port, sip_phone
from tests.support.offline_peer import OfflinePeer
from tests.support.operator import ADMIN
from tests.support.running_server import RunningServer, running_server
from tests.support.speech import samples_of, speech
from tests.support.tones import pitch
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

PASSWORD = "a-long-password"
NUMBER = "+15550198765"
ANSWER = {"text": "It is sunny.", "tone": {"hz": 880, "ms": 600}}
ASKED: dict[str, Any] = {"turns": [{"hear": "What is the weather in Seattle?", "reply": ANSWER}]}
HOWTO = Path("docs/howto/telephone.md").read_text()
"""The guide. Its settings, its account and its command are used unchanged, except for the address."""
BARESIP = """\
module_path {modules}
module g711.so
module aufile.so
module sndfile.so
module_tmp uuid.so
module_tmp account.so
module_app menu.so
audio_source aufile,{folder}/say.wav
audio_player aufile,{folder}/play.wav
ausrc_srate 8000
auplay_srate 8000
ausrc_channels 1
auplay_channels 1
snd_path {folder}
sip_listen 127.0.0.1:0
net_interface 127.0.0.1
"""


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    settings = howto_settings() | {
        "SIP__HOST": HERE,
        "SIP__PORT": "0",
        "SIP__PEERS": "127.0.0.3/32",
        "SIP__RTP_PORTS": "25000-25999",
    }
    with running_server(peer, ADMIN_TOKEN=ADMIN, **settings) as running:
        yield running


def howto_settings() -> dict[str, str]:
    """The settings that the guide gives for a softphone in the same network."""
    part = HOWTO.partition("### A softphone")[2].partition("2. Give")[0]
    return dict(re.findall(r"^ +(SIP__\w+)=(\S+)", part, re.MULTILINE))


def address(server: RunningServer) -> tuple[str, int]:
    """The address for calls, as the server prints it."""
    found = re.search(r"SIP +port (\d+)", server.printed)
    assert found, server.printed
    return HERE, int(found[1])


async def test_baresip_logs_in_speaks_and_hears_the_answer_and_no_password_is_logged(
    peer: OfflinePeer, server: RunningServer, tmp_path: Path
) -> None:
    await peer.follow(ASKED)
    configure(tmp_path)
    [dial] = re.findall(r'baresip -e "(.+)"', HOWTO)
    dial = dial.replace("192.0.2.20", f"{HERE}:{address(server)[1]}")
    process = await asyncio.create_subprocess_exec(
        *("baresip", "-f", str(tmp_path), "-e", dial, "-t", "15"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await asyncio.wait_for(process.wait(), 40)
    finally:
        if process.returncode is None:
            process.kill()
    pcm = what_was_heard(tmp_path)
    loud = [at for at in range(0, len(pcm) - 4_800, 4_800) if abs(samples_of(pcm[at : at + 4_800])).max() > 1_000]
    assert len(loud) >= 4, "nothing was heard"
    assert pitch(pcm[loud[1] : loud[1] + 9_600]) == pytest.approx(880, rel=0.03)
    auth = SipDigestAuth("kitchen", PASSWORD)
    async with sip_phone(address(server), number=NUMBER, auth=auth) as phone:
        assert await phone.call() == 200 and await phone.hang_up() == 200
    printed = "".join(path.read_text(errors="replace") for path in server.folder.glob("*.log"))
    assert NUMBER.strip("+") not in printed and PASSWORD not in printed


async def test_one_of_two_processes_takes_the_calls_and_the_other_follows_it(peer: OfflinePeer) -> None:
    await peer.follow({"turns": [{"reply": ANSWER}], "loop": True})
    port = free_port()
    settings = {"SIP__ENABLED": "true", "SIP__HOST": HERE, "SIP__PORT": str(port), "SIP__PEERS": f"{HERE}/32"}
    with running_server(peer, WORKERS="2", SIP__RTP_PORTS="26000-26999", **settings) as running:

        def holders() -> set[int]:
            found = set()
            for each in psutil.Process(running.pid).children(recursive=True):
                with suppress(psutil.Error):  # it ends while we look
                    found |= {each.pid for socket in each.net_connections("udp") if socket.laddr.port == port}
            return found

        await until(lambda: len(holders()) == 1, 20)
        [first] = holders()
        assert await a_call_is_answered(port)
        psutil.Process(first).kill()
        await until(lambda: len(holders() - {first}) == 1, 20)
        assert await a_call_is_answered(port)


async def a_call_is_answered(port: int) -> bool:
    """Call, and hang up."""
    async with sip_phone((HERE, port)) as phone:
        answered = await phone.call() == 200
        return answered and await phone.hang_up() == 200


def configure(folder: Path) -> None:
    """Write baresip's files: its settings, its account, and its speech, as 8 kHz."""
    [modules, *_] = [path.parent for path in Path("/usr/lib").glob("**/baresip/modules/g711.so")]
    (folder / "config").write_text(BARESIP.format(folder=folder, modules=modules))
    [account] = re.findall(r"^ +(<sip:kitchen@\S+)$", HOWTO, re.MULTILINE)
    (folder / "accounts").write_text(account.replace("192.0.2.20", HERE) + ";audio_codecs=pcma\n")
    (folder / "contacts").touch()
    pcm = bytes(48_000) + speech("What is the weather in Seattle?") + bytes(48_000 * 5)
    with wave.open(str(folder / "say.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(resample(pcm, 24_000, 8_000))


def what_was_heard(folder: Path) -> bytes:
    """Read baresip's decoded sound, as 24 kHz."""
    [heard] = folder.glob("dump-*-dec.wav")
    with wave.open(str(heard)) as file:
        return resample(file.readframes(file.getnframes()), file.getframerate(), 24_000)
