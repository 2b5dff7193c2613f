"""program.toml: what is described, refused and executed; and making one from a command line."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.pipe.program_run import PIPE

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport, WorkerDescription, WorkerManifest
from mosaic_workerkit.pipe.errors import ProgramFileInvalid, ProgramRefused
from mosaic_workerkit.pipe.making import make_worker
from mosaic_workerkit.pipe.program import read_program_file

PLACES = {"here": "/h", "run_dir": "/r", "run_id": "ID"}
TOML = """
id = "mine"
title = "Mine"
[algorithms.a]
command = ["{here}/a.sh", "--seed={seed}", "--n={steps}", "--lr={lr}", "{environment}", "{\\"a\\": 1}", "{run_dir}"]
[algorithms.a.parameters.lr]
type = "number"
[algorithms.a.parameters.fast]
type = "boolean"
default = true
"""


def program_file(folder: Path, text: str) -> Path:
    path = folder / "program.toml"
    path.write_text(text)
    return path


def spec(**more: object) -> RunSpec:
    return RunSpec.model_validate(
        {"worker": "mine", "algorithm": "a", "environment": "E v0; rm", **more}
    )


def test_the_command_line_of_a_run(tmp_path: Path) -> None:
    """Each placeholder is replaced in its own word; other braces and odd names stay as they are."""
    text = TOML.replace('"{run_dir}"', '"{run_dir}", "--fast={fast}"')
    program = read_program_file(program_file(tmp_path, text)).algorithms["a"]
    asked = spec(seed=7, steps=9, parameters={"lr": 0.5})
    assert program.argv(asked, PLACES) == [
        *("/h/a.sh", "--seed=7", "--n=9", "--lr=0.5", "E v0; rm", '{"a": 1}', "/r", "--fast=true")
    ]
    with pytest.raises(ProgramRefused, match="--steps"):
        program.argv(spec(parameters={"lr": 1}), PLACES)
    with pytest.raises(ProgramRefused, match="-p lr=VALUE"):
        program.argv(spec(steps=1), PLACES)
    with pytest.raises(ProgramRefused, match="did you mean 'fast'"):
        program.values(spec(parameters={"fasst": True}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("", ""), "'fast' is not in the command"),
        (('"{run_dir}"', '"{fast}{lrr}"'), "{lrr}"),
        (("parameters.fast", "parameters.seed"), "'seed' has the name of a field"),
        (("title", "titel"), "titel"),
        (("[algorithms.a]", "[algorithms.a"), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    """A mistake in the file is named where it is read."""
    with pytest.raises(ProgramFileInvalid) as invalid:
        read_program_file(program_file(tmp_path, TOML.replace(*change)))
    assert words in str(invalid.value)


def test_check_finds_the_program(tmp_path: Path) -> None:
    """`check` says what would be executed, and refuses a program that is not there."""
    path = program_file(tmp_path, TOML.replace('"{run_dir}"', '"{fast}"'))
    asked = spec(steps=5, parameters={"lr": 0.5}).model_dump_json()
    call = [*PIPE, str(path), "check"]

    def check() -> CheckReport:
        made = subprocess.run(call, input=asked, capture_output=True, text=True, check=True)
        return CheckReport.model_validate_json(made.stdout)

    report = check()
    assert not report.ok
    assert "a.sh is not found" in report.findings[0].message
    (tmp_path / "a.sh").write_text("#!/bin/sh\n")
    (tmp_path / "a.sh").chmod(0o755)
    report = check()
    assert report.ok
    assert report.plan["program"] == str(tmp_path / "a.sh")


def test_making_a_worker(tmp_path: Path) -> None:
    """A command line becomes a worker that describes its parameters, and is not written twice."""
    (tmp_path / "my train.py").write_text("")
    folder = tmp_path / "My Agent"
    words = ["python3", "my train.py", "--seed={seed}", "-n={steps=500}", "--lr={lr=0.1}"]
    words += ["--env={environment}", "--deep={deep=true}", "--opt={opt=adam}", "--must={must}"]
    command = [*PIPE, "--make-worker", str(folder), "--", *words]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "./mosaic run my_agent train ENVIRONMENT" in made.stdout
    manifest = WorkerManifest.model_validate(tomllib.loads((folder / "worker.toml").read_text()))
    assert manifest.id == "my_agent"
    described = subprocess.run(
        [*PIPE, str(folder / "program.toml"), "describe"], capture_output=True, check=True
    )
    algorithm = WorkerDescription.model_validate_json(described.stdout).algorithms[0]
    properties = algorithm.parameters["properties"]
    assert {name: part.get("default") for name, part in properties.items()} == {
        "seed": None,
        "steps": 500,
        "environment": None,
        "lr": 0.1,
        "deep": True,
        "opt": "adam",
        "must": None,
    }
    assert [properties[name]["type"] for name in ("lr", "deep", "opt", "must")] == [
        *("number", "boolean", "string", "string"),
    ]
    assert algorithm.parameters["required"] == ["must"]
    program = read_program_file(folder / "program.toml").algorithms["train"]
    assert program.command[:2] == ["python3", str(tmp_path / "my train.py")]
    with pytest.raises(ProgramFileInvalid, match="there already"):
        make_worker(folder, words, tmp_path)


def test_a_made_worker_keeps_the_contract(tmp_path: Path) -> None:
    """What is made passes worker-check as it is."""
    program = tmp_path / "train.py"
    program.write_text(
        "import json, sys, time\n"
        "for i in range(int(sys.argv[1])):\n"
        "    print(json.dumps({'global_step': i + 1, 'm': 1.0})); time.sleep(0.01)\n"
    )
    make_worker(tmp_path / "w", [sys.executable, "train.py", "{steps=20}"], tmp_path)
    (tmp_path / "venvs").mkdir()
    (tmp_path / "venvs/workerkit").symlink_to(sys.prefix)
    command = [sys.executable, "-m", "mosaic_workerkit.conformance", str(tmp_path / "w")]
    command += ["--venvs", str(tmp_path / "venvs"), "--steps", "20", "--json"]
    judged = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert [v for v in json.loads(judged.stdout)["verdicts"] if v["result"] != "ok"] == []
    assert judged.returncode == 0
