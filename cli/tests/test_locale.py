"""The verbs in locales that lack most letters: replaced characters, never a traceback."""

import json
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers

NAME = "学習 café 🚀 ▁▂▃"
EPISODE = {
    "attempt": 1,
    "env": 0,
    "episode": 3,
    "length": 20,
    "return": 20.5,
    "started_at": "2026-01-01T00:00:00Z",
}
BUCKETS = [
    {"step": n, "n": 1, "mean": float(n), "min": 0.0, "max": 9.0, "last": 1.0} for n in range(8)
]
VERBS = ["ps", "show last", "top", "episodes last", "metrics last", "workers", "queue", "status"]


@pytest.fixture
def other_letters(answers: Answers) -> Answers:
    """A stack whose texts are in letters of the whole world."""
    run = {**RUN, "name": NAME, "tags": [NAME], "note": NAME}
    answers["/api/v1/runs"] = {"runs": [run]}
    answers[OF_RUN] = run
    answers[f"{OF_RUN}/episodes"] = {"episodes": [EPISODE], "cursor": None, "total": 1}
    answers[f"{OF_RUN}/metrics"] = [
        {"name": NAME, "points": 8, "last_step": 7, "last_value": 1.0, "last": 1.0}
    ]
    return answers


def call(*words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Call a verb in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "mosaic_cli", *words],
        env={**os.environ, **environ},
        capture_output=True,
        check=False,
    )


def without_faults(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether a verb ended by its own will."""
    return b"Traceback" not in done.stderr and b"Error" not in done.stderr and done.returncode != 1


@pytest.mark.nightly(by_day=["ps-ascii", "show last-shift_jis", "workers-ascii"])
@pytest.mark.parametrize(
    ("verb", "encoding"),
    [
        *product(VERBS, ["ascii", "shift_jis"]),  # the smallest, and one with letters of two bytes
        *product(["show last"], ["iso8859-1", "iso8859-15", "koi8-r"]),
    ],
)
def test_no_verb_ends_for_a_letter(other_letters: Answers, verb: str, encoding: str) -> None:
    """What the encoding lacks is replaced, on both streams."""
    done = call(*verb.split(), PYTHONIOENCODING=f"{encoding}:strict")
    assert without_faults(done), done.stderr.decode(errors="replace")


@pytest.mark.parametrize("verb", ["ps", "show last"])
def test_json_loses_no_letter(other_letters: Answers, verb: str) -> None:
    """With --json a letter that the encoding lacks is an escape, so the value stays whole."""
    done = call(*verb.split(), "--json", PYTHONIOENCODING="iso8859-1:strict")
    said = json.loads(done.stdout.decode("iso8859-1"))
    run = said[0] if isinstance(said, list) else said
    assert (run["run_id"], run["name"]) == (RUN_ID, NAME)
    assert NAME in call(*verb.split(), "--json", PYTHONIOENCODING="utf-8").stdout.decode()


def test_a_real_locale_shows_what_it_has(other_letters: Answers, tmp_path: Path) -> None:
    """With ISO-8859-1 as the system's own encoding, its letters are shown and the others replaced."""
    if shutil.which("localedef") is None:
        pytest.skip("no localedef on this machine")
    made = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / "en_US")]
    if subprocess.run(made, capture_output=True, check=False).returncode > 1:
        pytest.skip("this machine has no definition of that locale")
    done = call("show", "last", LOCPATH=str(tmp_path), LC_ALL="en_US")
    assert without_faults(done), done.stderr.decode(errors="replace")
    assert "?? café ? ???".encode("iso8859-1") in done.stdout


@pytest.mark.nightly(by_day=["ps->&-", "show last --json->&- 2>&- <&-"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("verb", ["ps", "show last --json", "completion bash", "show nothing"])
def test_a_closed_stream_is_like_the_null_device(
    other_letters: Answers, verb: str, closed: str
) -> None:
    """A verb whose stdout, stderr or stdin was closed ends as if it were /dev/null."""
    ends = [
        subprocess.run(
            ["bash", "-c", f'exec "$0" -m mosaic_cli {verb} {streams}', sys.executable],
            capture_output=True,
            check=False,
        )
        for streams in (closed, closed.replace("2>&-", "2>/dev/null").replace(">&-", ">/dev/null"))
    ]
    assert b"Traceback" not in ends[0].stderr, ends[0].stderr.decode()
    assert (ends[0].returncode, ends[0].stdout) == (ends[1].returncode, ends[1].stdout)
