"""When a process counts as full, and when it does not."""

import asyncio
import time

import pytest

from backend.errors import Overloaded
from backend.sessions.load import ENOUGH, SAMPLE_EVERY_S, SAMPLES, Load, watch


def load_of(*lags_ms: float, cpu: float = 0.1, max_lag_ms: float = 80) -> Load:
    load = Load(max_lag_ms)
    for lag_ms in lags_ms:
        load.sample(lag_ms, cpu)
    return load


def test_one_short_delay_refuses_no_call_and_a_loop_that_is_mostly_late_does() -> None:
    load_of(*[1] * 19, 900).admit()
    with pytest.raises(Overloaded) as refused:
        load_of(*[100] * SAMPLES).admit()
    assert refused.value.status == 503
    assert refused.value.retry_after_s > 0


def test_the_start_is_not_judged() -> None:
    assert not load_of(*[500] * (ENOUGH - 1)).is_full
    assert load_of(*[500] * ENOUGH).is_full


def test_a_process_that_uses_most_of_a_core_is_full_even_without_delays() -> None:
    assert load_of(*[1] * SAMPLES, cpu=0.87).is_full
    assert not load_of(*[1] * SAMPLES, cpu=0.8).is_full


def test_the_limits_can_be_switched_off() -> None:
    assert not load_of(*[500] * SAMPLES, cpu=0.9, max_lag_ms=0).is_full


def test_the_nearer_limit_gives_the_fullness() -> None:
    assert load_of(*[20] * SAMPLES, cpu=0.17).fullness == pytest.approx(0.25)
    assert load_of(*[20] * SAMPLES, cpu=0.68).fullness == pytest.approx(0.8)
    assert load_of(*[200] * SAMPLES).fullness == 1.0


def test_samples_older_than_five_seconds_do_not_count() -> None:
    load = load_of(*[500] * SAMPLES)
    for _ in range(SAMPLES):
        load.sample(0, 0.1)
    load.admit()


async def test_a_blocked_loop_is_noticed() -> None:
    load = load_of()
    watching = asyncio.create_task(watch(load))
    await asyncio.sleep(SAMPLE_EVERY_S / 2)
    time.sleep(SAMPLE_EVERY_S + 0.2)  # noqa: ASYNC251 - the very thing that must be noticed
    await asyncio.sleep(0.05)
    watching.cancel()
    await asyncio.wait([watching])
    assert load.lag_ms > 150
