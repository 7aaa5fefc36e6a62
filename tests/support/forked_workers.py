"""Workers of the quick loop (`pytest --quick --forks 4`), forked from the process that has collected the tests.

To import and collect six hundred files costs as much as a sixth of the tests: here it happens once, not once a worker.
A worker takes whole files, so that what is set up for a file is set up once.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, cast

import pytest
from _pytest.capture import CaptureManager
from _pytest.tmpdir import TempPathFactory

NUMBER_BYTES = 2
"""Bytes of a file's number: a pipe takes and gives so few undivided."""

Files = Sequence[Sequence[pytest.Item]]


class ForkedWorkers:
    """A plugin that runs the collected tests in `count` forks, and reports them as if they had run here."""

    def __init__(self, count: int) -> None:
        self._count = count

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Fork, and pass on what the forks report until all have ended."""
        if session.testsfailed or session.config.option.collectonly or not session.items:
            return None
        files = [[*tests] for _, tests in groupby(session.items, lambda item: item.path)]
        queue, workers = _filled(len(files)), list[_Worker]()
        _folders(session.config).getbasetemp()
        gc.collect()
        gc.freeze()  # memory that all share stays shared, and no worker's collector looks at it again
        try:
            for _ in range(self._count):
                workers.append(_Worker(session, files, queue, workers))
            _pass_on(session, workers)
        finally:
            os.close(queue)
            faults = [fault for worker in workers if (fault := worker.end())]
        if faults:
            raise pytest.UsageError(*faults)
        return True


def _filled(count: int) -> int:
    """Return the reading end of a pipe with the numbers below `count`: the files that workers are to take."""
    queue, filling = os.pipe()
    os.set_blocking(filling, False)
    os.write(filling, b"".join(number.to_bytes(NUMBER_BYTES, "big") for number in range(count)))
    os.close(filling)
    return queue


class _Worker:
    """A fork, seen from the process that forked it."""

    def __init__(self, session: pytest.Session, files: Files, queue: int, before: Sequence[_Worker]) -> None:
        # Of threads without Python, onnxruntime's has been started by its import: it waits, and holds no lock.
        assert threading.active_count() == 1, f"a fork would wait for the locks of {threading.enumerate()}"
        self.reports, reporting = Pipe(duplex=False)
        self.last_test = "no test"
        self._has_ended = False
        self._pid = os.fork()
        if self._pid == 0:
            for worker in (self, *before):
                worker.reports.close()
            _work(session, files, queue, reporting)
        reporting.close()

    def message(self) -> Any:
        """Return what it reports next, and None once it has ended."""
        try:
            return self.reports.recv()
        except EOFError:
            self._has_ended = True
            return None

    def end(self) -> str | None:
        """End it, if it has not ended by itself. Returns what was wrong with that end."""
        self.reports.close()
        if not self._has_ended:
            os.kill(self._pid, signal.SIGTERM)
        _, status = os.waitpid(self._pid, 0)
        if status == 0 or not self._has_ended:
            return None
        return f"a worker ended with {os.waitstatus_to_exitcode(status)}; its last test was {self.last_test}"


def _pass_on(session: pytest.Session, workers: Sequence[_Worker]) -> None:
    """Give the session what the workers report, until they have ended or the session wants no more."""
    hook, running = session.config.hook, {worker.reports: worker for worker in workers}
    while running and not session.shouldfail:
        for reports in wait([*running]):
            worker = running[cast("Connection[Any, Any]", reports)]
            match worker.message():
                case None:
                    del running[worker.reports]
                case (nodeid, location):
                    worker.last_test = nodeid
                    hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
                case data:
                    report = hook.pytest_report_from_serializable(config=session.config, data=data)
                    hook.pytest_runtest_logreport(report=report)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)


class _Reporter:
    """A plugin that sends a worker's reports, in place of the one that writes to the terminal."""

    def __init__(self, config: pytest.Config, to: Connection[Any, Any]) -> None:
        self._config = config
        self._to = to

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._to.send((nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._to.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _work(session: pytest.Session, files: Files, queue: int, reporting: Connection[Any, Any]) -> None:
    """Run tests until there are no more, and end this process."""
    plugins = session.config.pluginmanager
    capture = cast(CaptureManager, plugins.get_plugin("capturemanager"))
    status = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the process that forked this one ends it
    try:
        plugins.unregister(name="terminalreporter")
        plugins.register(_Reporter(session.config, reporting))
        capture.stop_global_capturing()
        capture.start_global_capturing()  # into a file of its own
        gc.enable()
        folders = _folders(session.config)
        folders._basetemp = folders.mktemp("worker")
        _run(session, _taken(files, queue))
        status = 0
    except BaseException:  # noqa: BLE001  # it goes no further than this process
        capture.stop_global_capturing()
        traceback.print_exc()
    finally:
        os._exit(status)


def _run(session: pytest.Session, coming: Iterator[pytest.Item]) -> None:
    item = next(coming, None)
    while item:
        following = next(coming, None)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


def _taken(files: Files, queue: int) -> Iterator[pytest.Item]:
    while number := os.read(queue, NUMBER_BYTES):
        yield from files[int.from_bytes(number, "big")]


def _folders(config: pytest.Config) -> TempPathFactory:
    """Return what names the folders of `tmp_path`."""
    return cast(TempPathFactory, config._tmp_path_factory)  # type: ignore[attr-defined]
