"""The rules of turn-taking, against 100,000 random conversations (and ten thousand with other limits)."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from tests.support.examples import examples
from tests.turns.world import World

CONVERSATIONS_PER_EXAMPLE = 50
ACTIONS_PER_CONVERSATION = 18


LIMITS = TurnLimits(reader=True)


def converse(script: bytes, limits: TurnLimits) -> None:
    """Two bytes an action: which, and how much. Half of the conversations begin with notices."""
    world = World(limits)
    if script[0] % 2:
        world.begin_with_news(script[1])
    for choice, amount in zip(script[::2], script[1::2], strict=True):
        world.act(choice, amount)
    world.settle()


def converse_often(script: bytes, limits: TurnLimits) -> None:
    """One example holds many conversations, so that the shrinker sees short ones and the run stays short."""
    length = 2 * ACTIONS_PER_CONVERSATION
    for start in range(0, len(script) - 1, length):
        piece = script[start : start + length]
        converse(piece[: len(piece) - len(piece) % 2], limits)


def converse_by_seed(seed: int) -> None:
    """Numbers are drawn from a seed: drawing each byte through Hypothesis would take longer than the conversations."""
    random = Random(seed)
    for _ in range(CONVERSATIONS_PER_EXAMPLE):
        script = random.randbytes(2 * ACTIONS_PER_CONVERSATION)
        try:
            converse(script, LIMITS)
        except AssertionError as error:
            error.add_note(f"converse(bytes.fromhex({script.hex()!r}), LIMITS)")
            raise


@settings(examples(100), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_the_rules_hold_in_a_thousand_random_conversations(seed: int) -> None:
    converse_by_seed(seed)


@pytest.mark.parametrize("part", ["a", "b", "c", "d"])  # for any number of workers
@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
@pytest.mark.timeout(900)
@pytest.mark.long
def test_the_rules_hold_in_a_hundred_thousand_random_conversations(part: str, seed: int) -> None:
    converse_by_seed(seed)


def test_a_reply_that_never_comes_after_an_outage_ends_in_an_apology_in_time() -> None:
    """Found by chance: the connection returns during "one moment", and the Responder then fails twice."""
    converse(bytes.fromhex("4e88eecf076d876ffd02e8456ae9606b3e625893a626d1af2241acbfdef6a4dba9029731"), TurnLimits())


def test_a_caller_who_has_waited_long_does_not_wait_again_after_an_outage() -> None:
    """Found by chance: the connection breaks and returns within a moment when a second reply is overdue, too."""
    script = "9d2eddb392d0e019fc1e86aa6c94c9613336c463f5ba2924d557297e4a18981cc1e48d26"
    converse(bytes.fromhex(script), LIMITS)


@pytest.mark.parametrize(
    "script",
    [
        "2375ad169ace82d752a1ccc041319f68baa0b19d802082029653eeb76ed84d861e3fe29c",
        "a1c3e241b9343ac7470dad92110c297598f580854e46841486232f1c50966ecac4f164e7",
    ],
)
def test_a_filler_that_never_sounds_leaves_the_floor_free(script: str) -> None:
    """Found by chance: "one moment" was heard to its end while the filler was still expected, which then failed."""
    converse(bytes.fromhex(script), LIMITS)


def with_late_answers(random: Random, limits: TurnLimits) -> World:
    """A conversation in which Thinkers work, or have answered too late, before chance takes over."""
    world = World(limits)
    for _ in range(random.randint(1, 3)):
        world.type_text(0)
        world.start_reply(1)
        for _ in range(random.randint(0, 2)):
            world.call_tool(1)
        world.finish_reply(0)
    while world.thinkers and random.random() < 0.7:
        world.think(1)
    return world


@settings(examples(300), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_the_rules_hold_however_thinkers_are_dismissed_and_late_answers_requested(seed: int) -> None:
    random = Random(seed)
    for _ in range(CONVERSATIONS_PER_EXAMPLE):
        limits = TurnLimits(interruption_min_ms=random.choice((280, 280, 0)))
        world = with_late_answers(random, limits)
        for choice, amount in zip(*[iter(random.randbytes(2 * ACTIONS_PER_CONVERSATION))] * 2, strict=True):
            world.act(choice, amount)
            if random.random() < 0.3:
                random.choice((world.dismiss, world.want_late_answer))(amount) if not world.closed else None
        world.settle()


@settings(examples(600), suppress_health_check=list(HealthCheck))
@given(st.binary(min_size=2, max_size=120))
def test_the_rules_hold_in_conversations_that_the_shrinker_can_shorten(script: bytes) -> None:
    converse_often(script, TurnLimits())


@settings(examples(300), suppress_health_check=list(HealthCheck))
@given(
    st.binary(min_size=2, max_size=120),
    st.builds(
        TurnLimits,
        style=st.sampled_from(EndpointingStyle),
        reader=st.booleans(),
        interruption_min_ms=st.sampled_from([0, 200, 1000]),
        interruptible=st.booleans(),
        endpointing=st.sampled_from(["local", "local", "provider"]),
        idle_nudge_s=st.sampled_from([0, 1, 15]),
        idle_disconnect_s=st.sampled_from([0, 5, 60]),
        filler_after_s=st.sampled_from([0, 0.5, 4]),
        greeting=st.booleans(),
    ),
)
def test_the_rules_hold_with_any_limits(script: bytes, limits: TurnLimits) -> None:
    converse_often(script, limits)
