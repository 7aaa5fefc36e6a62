"""The order of the tests, and the quick loop: `pytest --quick` runs tests without a browser, a process or a real clock.

A run with several workers ends with a list of the slowest files.
"""

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings

import tests.support.examples as _profiles  # noqa: F401  # registers them
from tests.support.forked_workers import ForkedWorkers

settings.load_profile("check")
pytest_plugins = ("tests.support.fixtures", "tests.support.peer_fixtures")

LONGEST_FIRST = (
    "tests/call/test_scripted_calls.py",
    "tests/outside/test_openapi_document.py",
    "tests/browser/test_widths.py",
    "tests/call/test_past_conversations.py",
    "tests/browser/test_page.py",
    "tests/extensions/self_hosted/test_calls.py",
    "tests/transports/test_webrtc.py",
    "tests/extensions/rtvi/test_browser.py",
    "tests/app/test_cli.py",
    "tests/browser/test_states.py",
    "tests/browser/test_audit.py",
    "tests/extensions/tour/",
    "tests/call/test_faults.py",
    "tests/outside/",
    "tests/browser/",
    "tests/extensions/",
    "tests/contracts/",
    "tests/call/",
    "tests/app/",
    "tests/test_plugins.py",
    "tests/mcp/",
    "tests/coordinator/",
    "tests/media/",
    "tests/responder_thinker/",
    "tests/deploy/",
    "tests/reasoning/",
    "tests/observability/",
    "tests/notifications/",
    "tests/tasks/",
    "tests/storage/",
    "tests/http/",
    "tests/transports/",
)
"""Workers take whole files from the front, so the slowest files go first, and none is left for the end.

Files that keep a browser busy stand between files that wait.
"""

SLOWEST_FILES = 10
"""The number of slowest files in the list."""
NOT_QUICK = ("browser", "slow", "alone", "long", "realtime", "process")
"""Marks of tests that the quick loop leaves out."""

ALL_MARKED = re.compile(rf"^pytestmark = .*mark\.({'|'.join(NOT_QUICK)})\b", re.MULTILINE)

NO_PROCESS = "the quick loop starts no process"
_guard = {"is_on": False, "has_refused": False}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only tests without a browser, a second process or the clock")
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many forks of the process that collects")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file that marks all of its tests as not quick, so that its imports are not loaded."""
    if config.getoption("--quick") and collection_path.suffix == ".py":
        return bool(ALL_MARKED.search(collection_path.read_text())) or None
    return None


def pytest_configure(config: pytest.Config) -> None:
    os.environ["REDIS_URL"] = "embedded"  # a Redis of this machine may be the developer's: tests leave it alone
    if config.getoption("--quick"):
        sys.addaudithook(_refuse_processes)
    if forks := config.getoption("--forks"):
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy starts no threads when it is imported
        gc.disable()  # until the workers are forked: most of what is made meanwhile stays
        config.pluginmanager.register(ForkedWorkers(forks))


def _refuse_processes(event: str, _: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and _guard["is_on"]:
        _guard["has_refused"] = True
        raise OSError(NO_PROCESS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _guard.update(is_on=bool(item.config.getoption("--quick")), has_refused=False)
    try:
        return (yield)
    finally:
        _guard["is_on"] = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test as skipped if it, or one of its fixtures, tried to start a process."""
    if call.excinfo and item.config.getoption("--quick") and (_guard["has_refused"] or _refused(call.excinfo.value)):
        try:  # the skip replaces the exception early, since the tracebacks of all these tests would take a minute
            pytest.skip(NO_PROCESS)
        except pytest.skip.Exception:
            call.excinfo = pytest.ExceptionInfo.from_current()
    return (yield)


def _refused(error: BaseException | None) -> bool:
    """Return whether a process was refused somewhere behind `error`."""
    while error is not None:
        parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        if NO_PROCESS in str(error) or any(_refused(part) for part in parts):
            return True
        error = error.__cause__ or error.__context__
    return False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        left_out = {item for item in items if any(item.get_closest_marker(mark) for mark in NOT_QUICK)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    """Return the place of the item's file in `LONGEST_FIRST`; the order of files with equal rank stays."""
    path = item.nodeid
    return next((n for n, start in enumerate(LONGEST_FIRST) if path.startswith(start)), len(LONGEST_FIRST))


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """List the slowest files with the total seconds of their tests."""
    if not (config.getoption("numprocesses", None) or config.getoption("--forks")):
        return
    took: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]
    terminalreporter.section(f"{SLOWEST_FILES} slowest files")
    for file, seconds in took.most_common(SLOWEST_FILES):
        terminalreporter.line(f"{seconds:7.1f} s  {file}")
