"""When a process says that it has no room, and when it does not."""

from __future__ import annotations

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


def test_one_hiccup_refuses_nobody_and_a_loop_that_is_mostly_late_does() -> None:
    load_of(*[1] * 19, 900).admit()
    with pytest.raises(Overloaded) as refused:
        load_of(*[100] * SAMPLES).admit()
    assert refused.value.status == 503
    assert refused.value.retry_after_s > 0


def test_start_up_is_not_judged() -> None:
    assert not load_of(*[500] * (ENOUGH - 1)).is_full
    assert load_of(*[500] * ENOUGH).is_full


def test_a_process_that_uses_most_of_a_core_is_full_though_its_loop_is_in_time() -> None:
    assert load_of(*[1] * SAMPLES, cpu=0.87).is_full
    assert not load_of(*[1] * SAMPLES, cpu=0.8).is_full


def test_the_limits_can_be_switched_off() -> None:
    assert not load_of(*[500] * SAMPLES, cpu=0.9, max_lag_ms=0).is_full


def test_the_nearer_limit_tells_how_full_it_is() -> None:
    assert load_of(*[20] * SAMPLES, cpu=0.17).fullness == pytest.approx(0.25)
    assert load_of(*[20] * SAMPLES, cpu=0.68).fullness == pytest.approx(0.8)
    assert load_of(*[200] * SAMPLES).fullness == 1.0


def test_what_was_is_forgotten_after_five_seconds() -> None:
    load = load_of(*[500] * SAMPLES)
    for _ in range(SAMPLES):
        load.sample(0, 0.1)
    load.admit()


async def test_a_loop_that_is_held_up_is_noticed() -> None:
    load = load_of()
    watching = asyncio.create_task(watch(load))
    await asyncio.sleep(SAMPLE_EVERY_S / 2)
    time.sleep(SAMPLE_EVERY_S + 0.2)  # noqa: ASYNC251 - the very thing that must be noticed
    await asyncio.sleep(0.05)
    watching.cancel()
    await asyncio.wait([watching])
    assert load.lag_ms > 150
