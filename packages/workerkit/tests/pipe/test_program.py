"""program.toml: what is described, refused and executed; and making one from a command line."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.pipe.program_run import PIPE, ProgramRun
from tests.run_folder import make_run_folder

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


SWITCHES = """
id = "mine"
title = "Mine"
[algorithms.a]
command = ["a.sh", "{cuda}", "{clip}", "{anneal}", "{deep}", "end"]
[algorithms.a.parameters.cuda]
type = "boolean"
default = false
x-when-true = "--cuda"
[algorithms.a.parameters.clip]
type = "boolean"
default = true
x-when-true = "--clip"
x-when-false = "--no-clip"
[algorithms.a.parameters.anneal]
type = "boolean"
default = true
x-when-false = "--anneal="
[algorithms.a.parameters.deep]
type = "boolean"
default = false
x-when-true = ["--deep", "yes"]
x-when-false = ["--deep", "no"]
"""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["--clip", "--deep", "no"]),
        ({"cuda": True, "deep": True}, ["--cuda", "--clip", "--deep", "yes"]),
        ({"clip": False, "anneal": False}, ["--no-clip", "--anneal=", "--deep", "no"]),
    ],
)
def test_a_boolean_parameter_becomes_its_word(
    tmp_path: Path, given: dict[str, bool], words: list[str]
) -> None:
    """A boolean parameter gives the word declared for its value, or no word at all."""
    program = read_program_file(program_file(tmp_path, SWITCHES)).algorithms["a"]
    assert program.argv(spec(parameters=given), PLACES) == ["a.sh", *words, "end"]


def test_false_is_never_passed_as_a_text(tmp_path: Path) -> None:
    """A false value without a declared word is refused, because `type=bool` reads the text false as true."""
    text = TOML.replace('"{run_dir}"', '"--fast={fast}"')
    program = read_program_file(program_file(tmp_path, text)).algorithms["a"]
    with pytest.raises(ProgramRefused, match="x-when-false"):
        program.argv(spec(steps=9, parameters={"lr": 1, "fast": False}), PLACES)
    with pytest.raises(ProgramRefused, match="give true or false"):
        program.argv(spec(steps=9, parameters={"lr": 1, "fast": "false"}), PLACES)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("{clip}", "--clip={clip}"), "a word by itself"),
        (('"a.sh", "{cuda}"', '"{cuda}"'), "not first"),
        (('x-when-true = "--cuda"', "x-when-true = 1"), "a text or a list of texts"),
        (('type = "boolean"\ndefault = true', 'type = "string"'), "make it boolean"),
        (("default = true", 'default = "true"'), "is not true or false"),
    ],
)
def test_words_of_a_boolean_that_cannot_be_placed(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    """Words of a boolean parameter are checked where program.toml is read."""
    with pytest.raises(ProgramFileInvalid) as invalid:
        read_program_file(program_file(tmp_path, SWITCHES.replace(*change, 1)))
    assert words in str(invalid.value)


FLAGS = """
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("--anneal", type=bool, default=True)
p.add_argument("--cuda", action="store_true")
p.add_argument("--clip", action=argparse.BooleanOptionalAction)
print(json.dumps({"type": "test.ran", **vars(p.parse_args())}))
"""


@pytest.mark.parametrize("value", [True, False])
def test_what_ran_is_what_is_recorded(tmp_path: Path, value: bool) -> None:
    """A real argparse program sees the boolean values that the run's config records."""
    (tmp_path / "flags.py").write_text(FLAGS)
    text = SWITCHES.replace('"a.sh"', f'"{sys.executable}", "{{here}}/flags.py"')
    text = text.replace(', "{deep}", "end"', "").partition("[algorithms.a.parameters.deep]")[0]
    path = program_file(tmp_path, text)
    given = dict.fromkeys(("anneal", "cuda", "clip"), value)
    folder = make_run_folder(tmp_path / "run", parameters=given, algorithm="a")
    subprocess.run([*PIPE, str(path), "train", "--run-dir", str(folder)], check=True, timeout=60)
    run = ProgramRun(folder, 0, b"")
    assert run.of("test.ran")[0].data == given
    assert run.of("config")[0].data["arguments"] == given


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


@pytest.mark.nightly
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
    command = [sys.executable, "-m", "mosaic_workerkit.check_worker", str(tmp_path / "w")]
    command += ["--venvs", str(tmp_path / "venvs"), "--steps", "20", "--json"]
    judged = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert [v for v in json.loads(judged.stdout)["verdicts"] if v["result"] != "ok"] == []
    assert judged.returncode == 0


def test_making_a_worker_with_switches(tmp_path: Path) -> None:
    """Flags in a command line become boolean parameters with their words; a lone flag is false by default."""
    words = ["./a", "{--use-cuda}", "{--clip/--no-clip}", "{--log/--no-log=true}", "{-q=true}"]
    (tmp_path / "a").write_text("")
    make_worker(tmp_path / "w", words, tmp_path)
    program = read_program_file(tmp_path / "w/program.toml").algorithms["train"]
    assert program.argv(spec(parameters={"clip": False}), PLACES) == [
        *(str(tmp_path / "a"), "--no-clip", "--log", "-q"),
    ]
    values = {"clip": True, "use_cuda": True, "log": False, "q": False}
    assert program.argv(spec(parameters=values), PLACES) == [
        *(str(tmp_path / "a"), "--use-cuda", "--clip", "--no-log"),
    ]


@pytest.mark.parametrize("way", ["absolute", "relative", "active"])
def test_making_a_worker_keeps_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The interpreter of a virtual environment is written as given, not as the base interpreter that it links to."""
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    (python.parents[1] / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\n"
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "t.yaml").write_text("")
    words = {"absolute": str(python), "relative": "sub/../venv/bin/python", "active": "python"}
    if way == "active":
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
        monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin")
    make_worker(tmp_path / "w", [words[way], "-c", "0", "--config=t.yaml"], tmp_path)
    program = read_program_file(tmp_path / "w/program.toml").algorithms["train"]
    assert program.command == [str(python), "-c", "0", f"--config={tmp_path}/t.yaml"]
    prefix = subprocess.run(
        [program.command[0], "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True
    )
    assert prefix.stdout.strip() == str(tmp_path / "venv")
