"""A Redis client of a process that may die at any await: before a command reaches the server, or before its answer."""

from collections.abc import Callable
from typing import Any

from fakeredis import FakeAsyncRedis, FakeServer


class Crash(BaseException):
    """The process died. This is not an `Exception`, so that no error handler catches it."""


Fate = Callable[[], None]
"""Called at every await; raises `Crash` at the chosen moment."""


class Countdown:
    """Dies at the n-th await; never if `left` is None."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left

    def __call__(self) -> None:
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise Crash


class CrashingRedis(FakeAsyncRedis):
    """`FakeAsyncRedis` on a server that survives. The process may die before or after its commands and transactions."""

    def __init__(self, server: FakeServer, fate: Fate) -> None:
        super().__init__(server=server)
        self._fate = fate
        self._pipes: list[Any] = []

    async def bury(self) -> None:
        """Close the connections of the dead process."""
        self._fate = Countdown()
        for pipe in self._pipes:
            await pipe.reset()
        await self.aclose()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self._fate()
        answer = await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        self._fate()
        return answer

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        pipe = super().pipeline(transaction, shard_hint)
        self._pipes.append(pipe)
        for name in ("execute", "immediate_execute_command"):
            setattr(pipe, name, self._fated(getattr(pipe, name)))
        return pipe

    def _fated(self, work: Any) -> Any:
        async def run(*args: Any, **options: Any) -> Any:
            self._fate()
            answer = await work(*args, **options)
            self._fate()
            return answer

        return run
