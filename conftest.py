"""What pytest does for every component: leaves nightly tests out by day, and measures the processor time of each test.

`python -m pytest` in the folder of a component finds this file above it, as it finds the settings in `pyproject.toml`.
"""

import os
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from _pytest.junitxml import xml_key  # the only way to a property of a report without a test

LEFT_OUT = "left_for_the_night"
"""Property of a report: number of nightly tests that were not run."""
CPU = "cpu_s"
"""Property of a test in a report: seconds of processor time, with its set-up, tear-down and every process."""
_left_out = pytest.StashKey[int]()
_began = pytest.StashKey[float]()
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT = 1
_USED = slice(11, 15)
"""Places in `/proc/PID/stat`, behind the name: time of the process, and of children that it has waited for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of every component."""
    group = parser.getgroup("mosaic")
    group.addoption("--nightly", action="store_true", help="run tests marked nightly too")
    group.addoption(
        "--cpu-times",
        action="store_true",
        help="write the processor time of each test into the report; pytest runs under tools/measured.py",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Leave nightly tests out, unless they are asked for with `--nightly`, with `-m`, or by their names."""
    by_name = any("::" in argument for argument in config.args)
    if not by_name:
        _check_names(items)
    result = yield  # -k and -m choose
    asked = by_name or config.getoption("--nightly") or config.getoption("-m")
    left_out = [] if asked else [item for item in items if is_nightly(item)]
    if left_out:
        items[:] = [item for item in items if not is_nightly(item)]
        config.hook.pytest_deselected(items=left_out)
    config.stash[_left_out] = len(left_out)
    return result


def is_nightly(item: pytest.Item) -> bool:
    """Whether a test is marked `nightly` and is none of those that the mark keeps by day."""
    mark = item.get_closest_marker("nightly")
    return mark is not None and not _listed(item, mark.kwargs.get("by_day", ()))


def _listed(item: pytest.Item, by_day: Iterable[str]) -> set[str]:
    """Entries of the list that name this case: its id in brackets, or the beginning of it before a hyphen."""
    case = item.callspec.id if hasattr(item, "callspec") else ""
    return {entry for entry in by_day if f"{case}-".startswith(f"{entry}-")}


def _check_names(items: list[pytest.Item]) -> None:
    """Refuse a mark whose `by_day` names no test: a case with a new name would silently be left for the night."""
    missing: dict[str, set[str]] = {}
    for item in items:
        mark = item.get_closest_marker("nightly")
        if mark is not None and (by_day := set(mark.kwargs.get("by_day", ()))):
            name = item.nodeid.partition("[")[0]
            missing[name] = missing.get(name, by_day) - _listed(item, by_day)
    for name, entries in missing.items():
        if entries:
            raise pytest.UsageError(f"{name}: by_day names no case of it: {entries}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report how many tests were left out. A session in which all were is a good one, and so is one of `-m nightly`
    that has none.
    """
    left_out = session.config.stash.get(_left_out, 0)
    report = session.config.stash.get(xml_key, None)
    if left_out and report is not None:
        report.add_global_property(LEFT_OUT, left_out)
    may_be_empty = left_out or session.config.option.markexpr == "nightly"
    if may_be_empty and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run the tests that were left out."""
    if left_out := terminalreporter.config.stash.get(_left_out, 0):
        terminalreporter.write_line(f"{left_out} left for the night (--nightly runs them)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Look at the clock of processors. What a fixture of a module costs counts for the first test that uses it."""
    if item.config.getoption("--cpu-times"):
        item.stash[_began] = cpu_of_tree(os.getppid())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the processor time of the test to the report of its last phase."""
    report = yield
    if call.when == "teardown" and _began in item.stash:
        used_s = cpu_of_tree(os.getppid()) - item.stash[_began]
        report.user_properties.append((CPU, f"{used_s:.2f}"))
    return report


def cpu_of_tree(root: int) -> float:
    """Seconds of processor time that a process and its descendants have used, also those that have ended.

    The root is a subreaper: it waits for descendants that outlive their parents, so that none is lost.
    """
    parents, ticks = dict[int, int](), dict[int, int]()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended just now
        parents[int(folder.name)] = int(fields[_PARENT])
        ticks[int(folder.name)] = sum(map(int, fields[_USED]))
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        waiting += children.get(process, [])
    return total / _TICKS
