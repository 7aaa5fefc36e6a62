"""Recordings are written beside the call, within their bounds. They expire, and go with their owner's data."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from backend.errors import NotFound
from backend.extensions.recordings.ogg import wav_pieces
from backend.extensions.recordings.store import RecordingStore
from backend.extensions.recordings.writer import ASSISTANT, CALLER, QUEUE_LIMIT
from backend.media.frame import SILENCE
from tests.extensions.recordings.recorded import add_tone, channels, files_in, loud_spans, recorded, store_in
from tests.support.tones import pitch
from tests.support.waiting import until


async def test_both_sides_are_in_one_file_each_on_its_own_channel(store: RecordingStore) -> None:
    found = await store.find("ada", await recorded(store, ms=1_000))
    left, right = channels(found.audio)
    (caller,), (assistant,) = loud_spans(left), loud_spans(right)
    assert abs(caller[0]) < 10 and abs(caller[1] - 500) < 10 and abs(assistant[0] - 500) < 10
    assert abs(pitch(left[:12_000].tobytes()) - 440) < 5 and abs(pitch(right[12_000:24_000].tobytes()) - 1_000) < 5
    shown = found.with_words()
    assert abs(shown["duration_ms"] - 1_000) <= 20 and shown["state"] == "call_ended" and shown["gaps"] == []
    assert [each["text"] for each in shown["utterances"]] == ["good morning"]


async def test_the_wav_file_sounds_the_same(store: RecordingStore, tmp_path: Path) -> None:
    found = await store.find("ada", await recorded(store))
    path = tmp_path / "call.wav"
    path.write_bytes(b"".join(wav_pieces(found.audio)))
    assert loud_spans(channels(path)[1])[0][0] == pytest.approx(300, abs=10)


async def test_files_belong_to_their_owner_alone_and_cannot_be_read_by_other_accounts(
    store: RecordingStore, tmp_path: Path
) -> None:
    recording_id = await recorded(store, "ada")
    with pytest.raises(NotFound):
        await store.find("bob", recording_id)
    for odd in ("", "../x", "a" * 16, recording_id + "x", recording_id[:-1] + "/"):
        with pytest.raises(NotFound):
            await store.find("ada", odd)
    files = files_in(tmp_path)
    assert len(files) == 2 and all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert "ada" not in str(files)


async def test_a_full_queue_costs_only_frames_which_are_marked_as_missing(store: RecordingStore) -> None:
    recording = store.begin("ada", "c1", "s1", lambda _: None)
    for number in range(QUEUE_LIMIT + 500):  # as if the disk had stopped
        recording.add_frame(CALLER, number * 480, SILENCE)
    assert len(recording.queue) == QUEUE_LIMIT
    await until(lambda: not recording.queue)
    recording.add_frame(CALLER, (QUEUE_LIMIT + 500) * 480, SILENCE)
    recording.end("call_ended")
    await store.writer.settle([recording], 5.0)
    found = await store.find("ada", recording.begin.id)
    assert found.journal.gaps == [(QUEUE_LIMIT * 20, (QUEUE_LIMIT + 500) * 20)]


async def test_an_unwritable_folder_ends_the_recording_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = store_in(tmp_path / "file")
    reasons: list[str] = []
    recording = store.begin("ada", "c1", "s1", reasons.append)
    recording.add_frame(CALLER, 0, SILENCE)
    await until(lambda: reasons == ["failed"])
    assert store.writer.active == ()
    await store.writer.close()


async def test_a_recording_ends_when_the_disk_is_full_and_stays_playable(tmp_path: Path) -> None:
    store = store_in(tmp_path, 2_000)
    reasons: list[str] = []
    recording = store.begin("ada", "c1", "s1", reasons.append)
    recording.began_at -= 30  # half a minute has passed
    add_tone(recording, CALLER, 440, 0, 3_000)
    await until(lambda: reasons == ["full"])
    found = await store.find("ada", recording.begin.id)
    assert found.shown()["state"] == "full" and loud_spans(channels(found.audio)[0])
    refused = store.begin("ada", "c1", "s2", reasons.append)
    refused.add_frame(CALLER, 0, SILENCE)
    await store.sweep()
    await until(lambda: reasons == ["full", "full"])
    assert len(await store.all_of("ada")) == 1
    await store.writer.close()


async def test_recordings_expire_for_readers_immediately_and_from_the_disk_with_the_sweep(tmp_path: Path) -> None:
    now = [1_000_000.0]
    store = store_in(tmp_path, keep_s=3_600, clock=lambda: now[0])
    recording_id = await recorded(store)
    found = await store.find("ada", recording_id)
    assert found.expires_at is not None and found.expires_at == pytest.approx(1_003_600.6, abs=0.1)
    now[0] += 3_599
    await store.sweep()
    assert len(await store.all_of("ada")) == 1
    now[0] += 2
    assert await store.all_of("ada") == []
    with pytest.raises(NotFound):
        await store.find("ada", recording_id)
    assert len(files_in(tmp_path)) == 2
    await store.sweep()
    assert files_in(tmp_path) == [] and store.writer.kept_bytes == 0
    await store.writer.close()


async def test_everything_of_a_user_is_erased_including_unfinished_recordings(
    store: RecordingStore, tmp_path: Path
) -> None:
    await recorded(store, "ada")
    kept = await recorded(store, "bob")
    running = store.begin("ada", "c2", "s2", lambda _: None)
    add_tone(running, CALLER, 440, 0, 200)
    await store.erase("ada")
    assert await store.all_of("ada") == [] and await store.export("ada") == []
    assert {path.stem for path in files_in(tmp_path)} == {kept}
    running.add_frame(CALLER, 48_000, SILENCE)  # the call does not know yet
    assert store.writer.active == ()


async def test_a_conversations_recordings_go_with_it_and_each_can_be_deleted_by_itself(
    store: RecordingStore, tmp_path: Path
) -> None:
    first, second = await recorded(store, conversation="c1"), await recorded(store, conversation="c2")
    third = await recorded(store, conversation="c2")
    await store.forget_conversation("ada", "c1")
    assert {each.journal.begin.id for each in await store.all_of("ada")} == {second, third}
    await store.delete("ada", third)
    with pytest.raises(NotFound):
        await store.delete("ada", first)
    running = store.begin("ada", "c3", "s3", lambda _: None)
    await store.delete("ada", running.begin.id)
    assert store.writer.active == () and {path.stem for path in files_in(tmp_path)} == {second}


RECORDS_AND_WAITS = """
import asyncio, sys
from pathlib import Path
from tests.extensions.recordings.recorded import add_tone, said, store_in
async def main():
    store = store_in(Path(sys.argv[1]))
    recording = store.begin("ada", "c1", "s1", lambda _: None)
    recording.began_at -= 6
    add_tone(recording, 0, 440, 0, 4000)
    recording.add_line(said("i1", "good morning", 0, 4000))
    while recording.queue: await asyncio.sleep(0.01)
    await asyncio.sleep(0.6)
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_killed_server_leaves_a_recording_that_plays_and_is_completed(
    store: RecordingStore, tmp_path: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", RECORDS_AND_WAITS, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    assert [each.shown()["state"] for each in await store.all_of("ada")] == ["recording"]
    await store.sweep()  # of another process: an unfinished recording is left alone
    assert [each.shown()["state"] for each in await store.all_of("ada")] == ["recording"]
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    for _ in range(2):  # before the sweep and after it
        (found,) = await store.all_of("ada")
        assert found.shown()["state"] == "cut" and found.shown()["duration_ms"] > 4_000
        assert loud_spans(channels(found.audio)[0]) == [pytest.approx((0, 4_000), abs=10)]
        assert [each["text"] for each in found.journal.said()] == ["good morning"]
        await store.sweep()


async def test_the_remains_of_a_killed_beginning_are_removed(store: RecordingStore) -> None:
    found = await store.find("ada", await recorded(store))
    empty = found.audio.with_name("e" * 16 + ".jsonl")
    empty.write_bytes(b"")
    os.utime(empty, (0, 0))
    await store.sweep()
    assert not empty.exists() and found.audio.exists()


async def test_the_end_of_the_process_completes_unfinished_recordings(store: RecordingStore) -> None:
    recording = store.begin("ada", "c1", "s1", lambda _: None)
    add_tone(recording, ASSISTANT, 440, 0, 400)
    await store.writer.close()
    found = await store.find("ada", recording.begin.id)
    assert found.shown()["state"] == "call_ended" and found.shown()["duration_ms"] >= 400
