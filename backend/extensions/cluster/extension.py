"""Several processes serve as one (WORKERS, SHARE_SESSIONS): each answers for the calls of all."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.extension import Extension, Ground, Opened
from backend.extensions.cluster.cluster import Cluster
from backend.extensions.cluster.cluster_registry import ClusterRegistry
from backend.sessions.handles import CallsHere, SessionLocator


@asynccontextmanager
async def open_cluster(ground: Ground) -> AsyncIterator[Opened]:
    """Open the registry of calls for the other processes, if processes share their sessions."""
    if not ground.settings.server.share_sessions:
        yield Opened()
        return

    @asynccontextmanager
    async def locate(here: CallsHere) -> AsyncIterator[SessionLocator]:
        group = f"{socket.gethostname()}:{os.getppid()}" if ground.settings.server.workers > 1 else None
        async with Cluster(ground.redis, ground.waiting, here, group=group) as cluster:
            yield cluster

    yield Opened(user_data={"calls": ClusterRegistry(ground.redis)}, locate=locate)


EXTENSION = Extension(name="cluster", open=open_cluster)
