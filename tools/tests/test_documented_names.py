"""Documentation names what exists: a rename that leaves a page behind is a finding."""

from pathlib import Path

import pytest

from check import tracked_files
from checks.documented_names import (
    find_decision_faults,
    find_documented_names,
    find_glossary_faults,
)
from components import ROOT

CODE = {
    "packages/kit/src/mosaic_kit/__init__.py": "",
    "packages/kit/src/mosaic_kit/clock.py": "class ClockReading: ...\ndef read(): ...\n",
    "packages/contracts/src/mosaic_contracts/events.py": "class A:\n    type: Literal['step'] = 'step'\n",
    "cli/src/mosaic_cli/verb_words.py": "WORDS: dict[str, str] = {'run': ''}\n",
}


def repository(folder: Path, **pages: str) -> list[str]:
    """Write a small repository; returns its names."""
    files = CODE | {f"docs/{name}.md": text for name, text in pages.items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


@pytest.mark.parametrize(
    "term",
    [
        "ClockReading",
        "ClockReading.seconds",
        "mosaic_kit.clock",
        "mosaic_kit.clock.read",
        "mosaic_kit.clock.read(now=True)",
        "clock.py",
        "mosaic_kit/clock.py",
        "packages/kit/",
        "./mosaic run cleanrl ppo",
        "./mosaic VERB",
        "any other words",
        "RUN",
    ],
)
def test_a_name_that_exists_is_accepted(tmp_path: Path, term: str) -> None:
    """Modules, functions of modules, classes, files, folders and verbs; other terms are no names."""
    assert find_documented_names(tmp_path, repository(tmp_path, page=f"See `{term}`.\n")) == []


@pytest.mark.parametrize(
    "text",
    [
        "See `ClockFace`.",
        "See `mosaic_kit.watch`.",
        "See `mosaic_kit.clock.wind`.",
        "See `watch.py`.",
        "See `watches/`.",
        "See `./mosaic wind`.",
        "```\n./mosaic wind\n```",
    ],
)
def test_a_name_that_is_gone_is_found_with_its_line(tmp_path: Path, text: str) -> None:
    """Each kind of name is looked for; verbs in blocks of code too."""
    found = find_documented_names(tmp_path, repository(tmp_path, page=f"# Page\n\n{text}\n"))
    assert len(found) == 1
    assert found[0].startswith("docs/page.md:")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("| run | A run. | `ClockReading` |", ""),
        ("| run | A run. | - |", ""),
        ("| step | A step. | event `step` |", ""),
        ("| step | A step. | event `stride` |", "'stride'"),
        ("| run | A run. |", "a row has a word"),
        ("| run |  | - |", "a row has a word"),
        ("| run | A run. | - |\n| walk, run | A walk. | - |", "'run' twice"),
    ],
)
def test_rows_of_the_glossary_are_whole(tmp_path: Path, row: str, fault: str) -> None:
    """A row explains each word once, and its events are event types."""
    names = repository(
        tmp_path, glossary=f"| word | meaning | in the code |\n| --- | --- | --- |\n{row}\n"
    )
    found = find_glossary_faults(tmp_path, names)
    assert len(found) == bool(fault)
    assert fault in "".join(found)


def test_this_repository_names_what_it_has() -> None:
    """Its own pages and glossary have no finding."""
    names = tracked_files()
    assert find_documented_names(ROOT, names) == []
    assert find_glossary_faults(ROOT, names) == []


def test_titles_of_decisions_are_those_of_their_list(tmp_path: Path) -> None:
    """A title that differs, a record that is not listed and one that is not there are findings."""
    rows = "".join(
        f"| [{number}]({number}-a.md) | Title |\n" for number in ("0001", "0002", "0004")
    )
    records = {"adr/0001-a": "# 0001: Title\n", "adr/0002-a": "# 0002: Other\n", "adr/0003-a": ""}
    found = find_decision_faults(
        tmp_path, repository(tmp_path, **{"adr/README": f"| number |\n{rows}"}, **records)
    )
    assert [finding.partition(": ")[0] for finding in found] == [
        "docs/adr/0003-a.md:1",
        "docs/adr/0002-a.md:1",
        "docs/adr/README.md:4",
    ]
    assert find_decision_faults(ROOT, tracked_files()) == []
