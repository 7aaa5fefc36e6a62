"""The timer that every packet moves: on asyncio's loop, and on uvloop, with its simpler handles."""

import asyncio
from contextvars import ContextVar

import pytest
import uvloop

from backend.runtime.timer import Alarm

LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)


async def rings_once_though_set_twice(when: float) -> None:
    rung: list[float] = []
    loop = asyncio.get_running_loop()
    alarm = Alarm(lambda: rung.append(loop.time()))
    alarm.set(loop.time() + when)
    alarm.set(loop.time() + when + 0.01)
    assert not rung
    await asyncio.sleep(0.03)
    assert len(rung) == 1


@pytest.mark.parametrize("when", [-0.1, 0.0, 0.01])
@pytest.mark.parametrize("new_loop", LOOPS)
def test_an_alarm_rings_once_even_for_a_past_moment(new_loop: object, when: float) -> None:
    assert callable(new_loop)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(rings_once_though_set_twice(when))


async def test_an_earlier_moment_wins_and_a_stopped_alarm_is_silent() -> None:
    rung: list[str] = []
    loop = asyncio.get_running_loop()
    moved, stopped = Alarm(lambda: rung.append("moved")), Alarm(lambda: rung.append("stopped"))
    moved.set(loop.time() + 60)
    moved.set(loop.time() + 0.005)
    stopped.set(loop.time() + 0.005)
    stopped.stop()
    await asyncio.sleep(0.02)
    assert rung == ["moved"]


async def test_an_alarm_rings_in_the_context_that_created_it() -> None:
    whose: ContextVar[str] = ContextVar("whose", default="nobody's")
    rung: list[str] = []
    whose.set("the owner's")
    alarm = Alarm(lambda: rung.append(whose.get()))
    whose.set("a guest's")
    alarm.set(asyncio.get_running_loop().time())
    await asyncio.sleep(0.01)
    assert rung == ["the owner's"]
