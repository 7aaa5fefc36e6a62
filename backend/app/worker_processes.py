"""`WORKERS=n` starts n server processes on one port with one command; they share their calls.

The parent takes no calls. It holds what can exist only once (the embedded Redis, a Responder on this machine), starts
the servers, and restarts one that dies: its calls are lost, those of the others go on.
"""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from backend.access.access import decide_access
from backend.access.secret_key import secret_keys
from backend.app.endpoints import responder_names
from backend.app.extensions import installed
from backend.errors import SetupError
from backend.runtime.child_process import ChildProcess, Command, Limits, running
from backend.settings.settings import Settings
from backend.storage.embedded import open_memory

END_WITHIN_S = 25.0
"""Seconds the processes may take to end their calls with a goodbye."""
RECEIVE_BUFFER = 32 * 1024
"""Bytes the kernel buffers from a client, with as many again for bookkeeping. Parsing one read takes 20 ms at most."""
SETUP_FAILED = 2
"""The exit status of a server that cannot start with its settings."""


async def supervise(settings: Settings, host: str, port: int, log_options: Sequence[str]) -> None:
    """Serve with several processes until SIGINT or SIGTERM. Raises `SetupError` when they cannot start."""
    decide_access(
        settings, host, installed(settings.agent.plugin_folders).credentials(settings)
    )  # Refuse once here, not in each process.
    with bound_socket(host, port, shared=True) as held:  # It does not listen, so it never gets a caller.
        options = ["--host", host, "--port", str(held.getsockname()[1]), *log_options]
        async with _shared(settings) as environment:
            limits = Limits(end_within_s=END_WITHIN_S + settings.server.drain_s, final_statuses={SETUP_FAILED})
            commands = [_serve(options, environment, announce=n == 0) for n in range(settings.server.workers)]
            await _run([ChildProcess(f"server process {n}", each, limits=limits) for n, each in enumerate(commands, 1)])


def _serve(options: list[str], environment: dict[str, str], *, announce: bool) -> Callable[[], Command]:
    """Return the command of a server process. It announces the address on its first start only, if `announce`."""
    announcing = iter(["--announce"] if announce else [])

    def command() -> Command:
        serve = [*running("backend.app.cli"), "serve", "--shared-port", next(announcing, "--no-announce")]
        return Command([*serve, *options], env=environment)

    return command


async def _run(workers: list[ChildProcess]) -> None:
    """Keep all processes running until a signal, then end them in order. A second signal kills them."""
    loop, ending = asyncio.get_running_loop(), asyncio.Event()

    def on_signal() -> None:
        if ending.is_set():
            for worker in workers:
                worker.kill()
        ending.set()

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, on_signal)
    failing = [asyncio.create_task(worker.final_status()) for worker in workers]
    signalled = asyncio.create_task(ending.wait())
    try:
        for worker in workers:
            await worker.start()
        await asyncio.wait([signalled, *failing], return_when=asyncio.FIRST_COMPLETED)
        failed = not signalled.done()
        ending.set()
    finally:
        await asyncio.gather(*(worker.close() for worker in workers))
        for task in (signalled, *failing):
            task.cancel()
        for number in signals:
            loop.remove_signal_handler(number)
    if failed:
        raise SetupError("The server processes could not start.", hint="Their messages above say why.")


@asynccontextmanager
async def _shared(settings: Settings) -> AsyncIterator[dict[str, str]]:
    """Open what the processes share, and yield the environment variables by which they find it."""
    environment = dict(os.environ) | {"SHARE_SESSIONS": "true"}
    async with AsyncExitStack() as stack:
        memory = settings.memory
        opened = await open_memory(memory.redis_url, memory.data_dir, local_url=memory.local_redis_url)
        stack.push_async_callback(opened.memory.close)
        if opened.url is None:
            raise SetupError(f"WORKERS needs a Redis that several processes can reach. {opened.detail}")
        environment["REDIS_URL"] = opened.url
        if settings.access.secret_key is None:  # They all sign with the key in DATA_DIR.
            environment["SECRET_KEY"] = b",".join(secret_keys(settings)).decode()
        having = installed(settings.agent.plugin_folders)
        names = responder_names(settings, having)
        for each in having.extensions:
            if each.share and each.fallback in names:
                environment |= await each.share(settings, stack)
        yield environment


def bound_socket(host: str, port: int, *, shared: bool) -> socket.socket:
    """Return a socket that is bound to the address and not listening yet. Raises `SetupError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise SetupError(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            hint="Choose another port with --port, or another address with --host.",
        ) from error
    return bound
