"""An engine for the tests of the pool of speech processes: each job follows its payload."""

import os
import threading
import time
from collections.abc import Iterator


class Obedient:
    """Follows the payload until it is stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def __call__(self, payload: bytes) -> Iterator[bytes]:
        self._stopped.clear()
        if payload == b"stoppable":  # for a minute
            if self._stopped.wait(60):
                raise RuntimeError("stopped")
            yield b"done"
        else:
            yield from _work(payload)

    def stop(self) -> None:
        self._stopped.set()


load = Obedient


def _work(payload: bytes) -> Iterator[bytes]:
    command, _, argument = payload.decode(errors="replace").partition(" ")
    match command:
        case "echo":
            yield argument.encode()
        case "count":  # so many pieces, 20 ms each
            for number in range(int(argument)):
                time.sleep(0.02)
                yield str(number).encode()
        case "die":
            os._exit(3)
        case "sleep":
            time.sleep(float(argument))
            yield b"awake"
        case "threads":
            yield f"{os.environ['OMP_NUM_THREADS']} {os.nice(0)}".encode()
        case _:
            raise ValueError("no such command")
