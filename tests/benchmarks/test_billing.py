"""How the benchmark bills a log: history again with each reply, its unchanged beginning cached, and cut by a policy."""

from __future__ import annotations

from typing import Any

from benchmarks.billing import Asked, Kept, Policy, bills, cached, remarks_after, replies_of

HEAD = Kept("instructions", 2000)


def conversation(turns: int) -> list[Asked]:
    items = [Kept(f"i{number}", 0, 100) for number in range(turns)]
    return [Asked((HEAD, *items[: number + 1]), 5, 60) for number in range(turns)]


def test_what_stands_at_the_beginning_is_cached_in_steps_from_1024_tokens_on() -> None:
    assert cached((HEAD,), (HEAD, Kept("a", 0, 50))) == (1920, 0)
    assert cached((HEAD, Kept("a", 0, 200)), (HEAD, Kept("a", 0, 200))) == (2000, 176)
    assert cached((Kept("short", 1000),), (Kept("short", 1000),)) == (0, 0)
    assert cached((Kept("other", 2000), Kept("a", 0, 200)), (HEAD, Kept("a", 0, 200))) == (0, 0)


def test_what_is_kept_whole_is_taken_in_again_with_each_reply() -> None:
    taken = [bill["audio_in"] for bill in bills(conversation(20), Policy("whole"))]
    assert taken == [100 * number for number in range(1, 21)]


def test_a_cut_turn_by_turn_loses_the_cache_of_all_that_follows_and_a_larger_one_seldom() -> None:
    def reused(policy: Policy) -> list[int]:
        return [bill["cached_audio_in"] for bill in bills(conversation(20), policy)]

    by_turn, at_once = reused(Policy("by turn", 800)), reused(Policy("0.5", 800, 0.5))
    assert by_turn[8:] == [0] * 12
    assert sum(at_once[8:]) > 0 and at_once[8:].count(0) <= 4
    assert max(bill["audio_in"] for bill in bills(conversation(20), Policy("0.5", 800, 0.5))) <= 800


def test_a_log_is_read_into_what_the_model_was_given() -> None:
    def entry(at: float, type_: str, audio_bytes: int = 0, **event: Any) -> dict[str, Any]:
        return {"at": at, "type": type_, "event": event, "audio_bytes": audio_bytes}

    received = [
        entry(0, "session.update", session={"instructions": "x" * 398, "tools": []}),
        entry(1, "input_audio_buffer.append", 48_000),
        entry(1.5, "input_audio_buffer.clear"),
        entry(2, "input_audio_buffer.append", 96_000),
        entry(2.1, "input_audio_buffer.commit"),
        entry(4, "conversation.item.truncate", item_id="a1", content_index=0, audio_end_ms=500),
    ]
    sent = [
        entry(2.2, "input_audio_buffer.committed", item_id="u1"),
        entry(2.3, "response.created", response={"id": "r1"}),
        entry(2.4, "response.output_audio.delta", 48_000, item_id="a1"),
        entry(2.5, "response.done", response={"id": "r1", "output": []}),
        entry(5, "response.created", response={"id": "r2"}),
    ]
    first, second = replies_of({"received": received, "sent": sent})
    assert [(each.text, each.audio) for each in first.given] == [(100, 0), (0, 20)]
    assert (first.audio_out, first.sent_ms) == (20, 3000)
    assert [each.audio for each in second.given] == [0, 20, 10]


def test_a_direction_at_the_end_leaves_the_cache_whole_and_instructions_of_its_own_lose_it() -> None:
    said = conversation(20)
    billed = [[*bills([*said, remark], Policy("whole"))][-1] for remark in remarks_after(said[-1]).values()]
    assert [bill["cached_audio_in"] > 1800 for bill in billed] == [True, True, False]
