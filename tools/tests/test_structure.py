"""One class for a name, and no imports in a circle."""

from pathlib import Path

import pytest

from checks.structure import find_class_names, find_cycles

BASE = "packages/store/src/mosaic_store"


def write(root: Path, files: dict[str, str]) -> list[str]:
    """Write modules of a package; return their names."""
    whole = {f"{BASE}/__init__.py": ""} | {f"{BASE}/{name}": text for name, text in files.items()}
    for name, text in whole.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return list(whole)


def test_a_second_class_of_a_name_is_found(tmp_path: Path) -> None:
    """The first one is named; private classes may share a name."""
    names = write(
        tmp_path,
        {"a.py": "class Place: ...\nclass _P: ...", "b.py": "class Place: ...\nclass _P: ..."},
    )
    assert find_class_names(tmp_path, names) == [
        f"{BASE}/b.py:1: the class name Place is taken by {BASE}/a.py:1"
    ]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.py": "import mosaic_store.b", "b.py": "import mosaic_store.c", "c.py": ""}, None),
        (
            {"a.py": "from mosaic_store import b", "b.py": "from mosaic_store.a import X"},
            "modules import each other in a circle: mosaic_store.a, mosaic_store.b",
        ),
        (
            {
                "a.py": "import mosaic_store.b",
                "b.py": "if TYPE_CHECKING:\n    import mosaic_store.a",
            },
            None,
        ),
        (
            {
                "x/__init__.py": "",
                "x/one.py": "from mosaic_store.y import two",
                "y/__init__.py": "",
                "y/two.py": "",
                "y/three.py": "def f():\n    from mosaic_store.x import one",
            },
            "folders import each other in a circle: x, y",
        ),
    ],
)
def test_a_circle_is_found(tmp_path: Path, files: dict[str, str], found: str | None) -> None:
    """Modules count by what they import to run, folders by any import."""
    findings = find_cycles(tmp_path, write(tmp_path, files))
    assert [finding.partition(": ")[2] for finding in findings] == ([found] if found else [])
