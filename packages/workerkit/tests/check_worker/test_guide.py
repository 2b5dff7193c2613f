"""What the two notes for authors say is so: blocks are valid and taken from the samples, lines are understood."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mosaic_contracts.worker import WorkerManifest
from mosaic_workerkit.pipe.program import ProgramFile
from mosaic_workerkit.pipe.schema import TYPES

ROOT = Path(__file__).parents[4]
PAGES = ("worker_author.md", "any_program.md", "gymnasium_worker.md")
NOTES = [(ROOT / "docs" / name).read_text() for name in PAGES]
GUIDE = "".join(NOTES)
MINIMAL = ROOT / "examples/worker_minimal"
GYMNASIUM = ROOT / "examples/worker_gymnasium"
PROGRAM = ROOT / "examples/worker_program"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def test_python_is_the_samples_own() -> None:
    """Each piece of Python is in one of the samples word for word."""
    sample = (MINIMAL / "worker.py").read_text()
    samples = sample + (GYMNASIUM / "worker.py").read_text()
    assert len(blocks("python")) >= 5
    assert [block for block in blocks("python") if block not in samples] == []
    assert len(sample.splitlines()) < 50


def test_manifests_are_valid() -> None:
    """Each TOML block is a manifest or a program file, and the samples' are those that are shown."""
    shown = [tomllib.loads(block) for block in blocks("toml")]
    programs = [data for data in shown if "algorithms" in data]
    manifests = [WorkerManifest.model_validate(data) for data in shown if "command" in data]
    assert len(shown) == len(programs) + len(manifests) == 4
    assert manifests[0] == WorkerManifest.model_validate(
        tomllib.loads((MINIMAL / "worker.toml").read_text())
    )
    piped = tomllib.loads((PROGRAM / "worker.toml").read_text())
    assert WorkerManifest.model_validate(piped) in manifests
    own = tomllib.loads((PROGRAM / "program.toml").read_text())
    assert programs[0]["algorithms"]["walk"].items() <= own["algorithms"]["walk"].items()
    ProgramFile.model_validate(programs[0])


def test_lines_are_understood(tmp_path: Path) -> None:
    """A program that prints all the guide's lines has none refused, and each type of line is shown."""
    lines = "".join(blocks("jsonl") + blocks("text"))
    printed = tmp_path / "lines"
    printed.write_text(lines)
    events = tmp_path / "events.jsonl"
    command = [sys.executable, "-m", "mosaic_workerkit.pipe", "--events", str(events), "--"]
    subprocess.run([*command, "cat", str(printed)], check=True, capture_output=True, timeout=60)
    recorded = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event for event in recorded if event.get("data", {}).get("reason")] == []
    kinds = {event["type"] for event in recorded}
    assert {"metric", "episode_start", "step", "episode", "log", "bdi.intention"} <= kinds
    assert [kind for kind in TYPES if f'"type": "{kind}"' not in GUIDE] == []
    metrics = {(e["name"], e["step"], e["value"]) for e in recorded if e["type"] == "metric"}
    assert ("charts/episodic_return", 1234, 45.0) in metrics
    assert ("lr", 1300, 1e-4) in metrics


@pytest.mark.nightly(
    by_day=[
        '{"global_step": 1, "m": 1e400}-False-number_too_large',
        '{"type": 17}-False-type_invalid',
    ]
)
@pytest.mark.parametrize(
    ("line", "kept", "reason"),
    [
        ('{"global_step": 1, "m": NaN}', True, None),
        ('{"global_step": 1, "m": "-Infinity"}', True, None),
        ('{"global_step": 1, "m": 9223372036854775808}', True, None),
        ('{"global_step": 1, "m": 1e400}', False, "number_too_large"),
        ('{"global_step": -1, "m": 1}', True, "step_invalid"),
        ('{"global_step": 1, "m": ', False, "json_invalid"),
        ('{"type": "metric", "name": "m", "value": "many"}', False, "fields_invalid"),
        ('{"type": 17}', False, "type_invalid"),
        ('{"type": 1.5, "name": "m", "value": 1}', False, "type_invalid"),
        ('{"type": null, "m": 1}', False, "type_invalid"),
        ('{"type": ["metric"], "m": 1}', False, "type_invalid"),
    ],
)
def test_the_table_of_odd_values(tmp_path: Path, line: str, kept: bool, reason: str | None) -> None:
    """Odd values are kept or refused as the guide's table says."""
    events = tmp_path / "events.jsonl"
    command = [sys.executable, "-m", "mosaic_workerkit.pipe", "--events", str(events), "--"]
    subprocess.run([*command, "echo", line], check=True, capture_output=True, timeout=60)
    recorded = [json.loads(text) for text in events.read_text().splitlines()]
    assert any(event["type"] == "metric" for event in recorded) is kept
    reasons = [event["data"]["reason"] for event in recorded if event.get("data", {}).get("reason")]
    assert reasons == ([] if reason is None else [reason])


def test_commands(tmp_path: Path) -> None:
    """The commands that need no stack are executed; the folders that the others name are there."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    for line in lines:
        for path in re.findall(r"(?:examples|packages)/[\w/.]+", line):
            assert (ROOT / path).exists(), line
    piped = [line for line in lines if "mosaic-pipe" in line]
    for line in piped:
        words = shlex.split(line.replace("examples/", f"{ROOT}/examples/"))[1:]
        command = [sys.executable, "-m", "mosaic_workerkit.pipe", *words]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=60)
    assert (tmp_path / "events.jsonl").stat().st_size > 0
    assert (tmp_path / "my_walk/program.toml").exists()


def test_environments_are_made_before_they_are_used() -> None:
    """A command from an environment comes after the `./mosaic sync` that makes it, so each note works as written."""
    for note in NOTES:
        made: set[str] = set()
        for line in re.findall(r"^.*(?:\./mosaic sync|var/venvs/).*$", note, re.MULTILINE):
            made.update(*(words.split() for words in re.findall(r"\./mosaic sync ([\w ]+)", line)))
            assert set(re.findall(r"var/venvs/(\w+)/bin", line)) <= made, line


def test_the_notes_are_short() -> None:
    """A note has at most 200 lines, and the guide ends in a checklist and the minimum tests."""
    assert max(len(note.splitlines()) for note in NOTES) <= 200
    assert NOTES[0].index("## Checklist") < NOTES[0].index("## Minimum tests")
