"""Recordings of calls, made only where the caller agrees."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial

from backend.access.principal import Grant
from backend.extension import Extension, Ground, Opened
from backend.extensions.recordings.recorder import CallRecorder
from backend.extensions.recordings.routes import router
from backend.extensions.recordings.settings import RecordingSettings
from backend.extensions.recordings.store import RecordingStore
from backend.runtime.supervisor import supervising

HOUR_S = 3_600
MEGABYTE = 1_000_000


@asynccontextmanager
async def open_recordings(ground: Ground) -> AsyncIterator[Opened]:
    """Open the recordings; those under way are completed at the end of the block. With recording off, earlier
    recordings still expire, and are exported and erased.
    """
    given = ground.settings.of(RecordingSettings)
    folder = given.folder or ground.settings.memory.data_dir / "recordings"
    store = RecordingStore(folder, round(given.total_mb * MEGABYTE), keep_s=given.keep_hours * HOUR_S or None)
    opened = Opened(
        services={RecordingStore: store},
        user_data={"recordings": store},
        page={"offered": given.enabled, "keep_hours": given.keep_hours},
        watch=lambda metrics: metrics.watch_queue("recordings", lambda: store.writer.depth),
        recorder=partial(CallRecorder, store, given.notice) if given.enabled else None,
    )
    async with supervising("recordings", store.run) if ground.serves else nullcontext():
        try:
            yield opened
        finally:
            await store.writer.close()


EXTENSION = Extension(
    name="recordings",
    title="Recordings",
    settings=(RecordingSettings,),
    open=open_recordings,
    routes=(router,),
    grants={"/api/recordings": Grant.CALL},
    former={"RECORDING__USER_MB": "RECORDING__TOTAL_MB"},
)
