"""`test --changed` finds the test files that a change can break."""

from pathlib import Path

import pytest

from changed import affected_tests
from check import within_budget
from components import CheckedComponent
from mosaic_environments.tree import Component

FILES = {
    "packages/store/pyproject.toml": "[project]\n",
    "packages/store/src/mosaic_store/__init__.py": "",
    "packages/store/src/mosaic_store/file.py": "import json\n",
    "packages/store/src/mosaic_store/reader.py": "from mosaic_store.file import open_file\n",
    "packages/store/tests/conftest.py": "",
    "packages/store/tests/test_file.py": "from mosaic_store import file\n",
    "packages/store/tests/test_reader.py": "import mosaic_store.reader\n",
    "packages/store/tests/test_other.py": "import json\n",
}


@pytest.fixture
def store(tmp_path: Path) -> CheckedComponent:
    """A component with three test files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return CheckedComponent(Component(str(tmp_path / "packages" / "store"), str(tmp_path)))


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ("src/mosaic_store/file.py", {"test_file.py": 1, "test_reader.py": 2}),
        ("src/mosaic_store/reader.py", {"test_reader.py": 1}),
        ("tests/test_other.py", {"test_other.py": 0}),
        ("tests/conftest.py", {"test_file.py": 1, "test_reader.py": 1, "test_other.py": 1}),
        ("README.md", {}),
    ],
)
def test_tests_that_import_what_changed_are_affected(
    store: CheckedComponent, changed: str, affected: dict[str, int]
) -> None:
    """Directly, through another module, or by lying below a changed conftest.py; each with its distance."""
    found = affected_tests([store], [store.folder / changed])
    assert {path.name: distance for path, distance in found.items()} == affected


def test_the_nearest_tests_run_first(
    store: CheckedComponent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What does not fit into the time is left out, the farthest first."""
    monkeypatch.setattr("check.REPORTS", tmp_path)
    monkeypatch.setattr("check.CHANGED_BUDGET_S", 12.0)
    near, far = store.folder / "tests" / "test_file.py", store.folder / "tests" / "test_reader.py"
    cases = '<testsuites><testsuite><testcase classname="tests.{}" name="t" time="{}"/></testsuite></testsuites>'
    (tmp_path / "store.xml").write_text(cases.format("test_file", 10))
    assert within_budget([store], {far: 2, near: 1}) == {near}
    (tmp_path / "store.xml").write_text(cases.format("test_file", 3))
    assert within_budget([store], {far: 2, near: 1}) == {near, far}
