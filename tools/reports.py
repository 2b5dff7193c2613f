"""What a JUnit report of pytest says: counts, and the time of each test."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

LEFT_OUT, CPU = "left_for_the_night", "cpu_s"
"""Properties that the checkout's conftest.py writes."""


@dataclass(frozen=True)
class Counts:
    """What pytest counted; errors in set-up and tear-down count as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    nightly: int = 0
    """Tests that were left out, for they are marked `nightly`."""

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.nightly + other.nightly,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Duration:
    """How long one test took, with its set-up."""

    name: str
    """`FOLDER.MODULE::TEST`"""
    seconds: float
    cpu_s: float | None = None
    """Processor time of the test with its processes; None when nobody measured it."""

    @property
    def module(self) -> str:
        return self.name.partition("::")[0]


def read_counts(report: Path) -> Counts | None:
    """The counts in a report; None when pytest did not live to write one."""
    root = _read(report)
    if root is None:
        return None
    total = Counts()
    for suite in root.iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        bad = failures + errors
        total += Counts(tests - bad - skipped, bad, skipped, int(_property(suite, LEFT_OUT) or 0))
    return total


def read_times(report: Path) -> tuple[Duration, ...]:
    """The time of each test in a report; none when there is no report."""
    root = _read(report)
    cases = root.iter("testcase") if root is not None else ()
    return tuple(
        Duration(
            f"{case.get('classname')}::{case.get('name')}",
            float(case.get("time", "0")),
            float(used) if (used := _property(case, CPU)) else None,
        )
        for case in cases
    )


def _property(element: ElementTree.Element, name: str) -> str | None:
    """A value that the checkout's conftest.py wrote for a suite or a test."""
    found = element.find(f"properties/property[@name='{name}']")
    return None if found is None else found.get("value")


def _read(report: Path) -> ElementTree.Element | None:
    if not report.is_file():
        return None
    try:
        return ElementTree.parse(report).getroot()
    except ElementTree.ParseError:
        return None
