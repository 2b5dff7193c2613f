"""The program: a document on stdin, its result on stdout, files in a folder."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic_contracts.comparisons import ActorsResult

DOCUMENT: dict[str, Any] = {
    "kind": "actors",
    "environment": "CartPole-v1",
    "score_range": {"high": 500},
    "actors": [
        {"name": "ppo_50%", "seeds": [1, 2, 3], "returns": [500, 480, 500]},
        {"name": "random", "seeds": [1, 2, 3], "returns": [22, -17, 31]},
    ],
}
TRAINING: dict[str, Any] = {
    "kind": "training",
    "thresholds": {"E-v0": 3},
    "groups": [
        {
            "name": name,
            "environment": "E-v0",
            "runs": [
                {"run_id": "R", "seed": seed, "steps": [10, 20, 30], "returns": [1, seed, top]}
                for seed in (1, 2)
            ],
        }
        for name, top in (("ppo", 5), ("dqn", 4))
    ],
}


def analysed(document: object, *words: str) -> tuple[int, Any]:
    """What the program says."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "mosaic_analysis", *words],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_files_of_a_comparison(tmp_path: Path) -> None:
    """Result, tables and a picture in two forms; what needs care in LaTeX is escaped, and too few seeds are said."""
    folder = tmp_path / "new" / "folder"
    code, said = analysed(DOCUMENT, "--output", str(folder))
    assert code == 0
    result = ActorsResult.model_validate(said["result"])
    assert {file.name for file in folder.iterdir()} == {
        "result.json", "table.md", "table.tex", "picture.svg", "picture.png",
    }  # fmt: skip
    assert ActorsResult.model_validate_json((folder / "result.json").read_text()) == result
    table, tex = (folder / "table.md").read_text(), (folder / "table.tex").read_text()
    assert "| ppo_50% and random |" in table
    assert "| 3, 0, 0 | too few samples |" in table
    assert r"ppo\_50\% & 3 &" in tex
    assert "$-$17" in tex
    for text in (table, tex, (folder / "picture.svg").read_text()[:200]):
        assert text
    assert "Too few seeds: with 3" in table
    assert "Too few seeds: with 3" in tex
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_files_of_trainings(tmp_path: Path) -> None:
    """Groups with steps to the threshold, and their differences."""
    code, said = analysed(TRAINING, "--output", str(tmp_path))
    assert code == 0
    assert said["result"]["kind"] == "training"
    table = (tmp_path / "table.md").read_text()
    assert "2 of 2 (3)" in table
    assert "| ppo and dqn |" in table
    assert (tmp_path / "picture.svg").stat().st_size > 1000


def test_a_fault_is_one_line(tmp_path: Path) -> None:
    """A document that is not valid, and a folder that is a file."""
    code, said = analysed({**DOCUMENT, "actors": DOCUMENT["actors"][:1]})
    assert (code, list(said)) == (1, ["problem"])
    assert "actors" in said["problem"]
    file = tmp_path / "file"
    file.write_text("")
    code, said = analysed(DOCUMENT, "--output", str(file))
    assert code == 1
    assert f"{file} cannot be written" in said["problem"]
