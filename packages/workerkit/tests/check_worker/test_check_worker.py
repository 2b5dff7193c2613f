"""`check_worker` lets good workers pass and catches each kind of bad one: real programs, real runner, real outbox."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from mosaic_workerkit.check_worker.command import main
from mosaic_workerkit.check_worker.rules import RULES

BAD = Path(__file__).with_name("bad_worker.py")
EXAMPLES = Path(__file__).parents[4] / "examples"
PLAY_RULES = {"play.ends", "play.told"}
"""Checked of workers only that say they can play."""
INSPECT_RULES = {"inspect.own", "inspect.foreign"}
"""Checked of workers only that take imports."""
QUICK = ["--answer-timeout", "20", "--train-timeout", "20", "--grace", "1", "--steps", "50"]


def check_by_command(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mosaic_workerkit.check_worker", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def check(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the command does, in this process; the worker has processes of its own all the same."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(path), *options])
    return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())


def manifest(folder: Path, fault: str) -> Path:
    command = json.dumps([sys.executable, str(BAD), fault])
    (folder / "worker.toml").write_text(f'id = "bad"\ntitle = "Bad"\ncommand = {command}\n')
    return folder


def failed(made: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    answer = json.loads(made.stdout)
    assert answer["ok"] is (made.returncode == 0)
    verdicts = {v["rule"]: v for v in answer["verdicts"] if v["result"] == "failed"}
    assert all(verdict["message"] and verdict["remedy"] for verdict in verdicts.values())
    return verdicts


@pytest.fixture
def venvs(tmp_path: Path) -> Path:
    """`{python}` of the examples is this interpreter."""
    folder = tmp_path / "venvs"
    folder.mkdir()
    (folder / "workerkit").symlink_to(sys.prefix)
    return folder


@pytest.mark.nightly(by_day=["worker_program"])
@pytest.mark.parametrize("name", ["worker_minimal", "worker_program"])
def test_the_examples_are_good(name: str, venvs: Path) -> None:
    """The workers that the guide shows keep every rule, and every rule was checked."""
    made = check_by_command(EXAMPLES / name, "--venvs", str(venvs), "--json")
    answer = json.loads(made.stdout)
    assert [v for v in answer["verdicts"] if v["result"] != "ok"] == []
    assert {v["rule"] for v in answer["verdicts"]} == set(RULES) - PLAY_RULES - INSPECT_RULES
    assert made.returncode == 0


def test_the_bad_worker_is_good_without_its_fault(tmp_path: Path) -> None:
    """What is caught below is the fault and nothing else of that program."""
    made = check(manifest(tmp_path, "none"), *QUICK, "--json")
    assert failed(made) == {}
    assert made.returncode == 0


def test_a_worker_that_plays_is_checked_for_that_too(tmp_path: Path) -> None:
    """The checkpoint that a training saved is played, and the events of the play are checked."""
    made = check(manifest(tmp_path, "plays_well"), *QUICK, "--only", "train", "--json")
    assert failed(made) == {}
    verdicts = {v["rule"]: v["result"] for v in json.loads(made.stdout)["verdicts"]}
    assert [verdicts[rule] for rule in sorted(PLAY_RULES)] == ["ok", "ok"]


def test_a_worker_that_takes_imports_is_checked_for_that_too(tmp_path: Path) -> None:
    """It is asked about what its training saved, and about files that it must refuse."""
    made = check(manifest(tmp_path, "inspects_well"), *QUICK, "--only", "train", "--json")
    assert failed(made) == {}
    verdicts = {v["rule"]: v["result"] for v in json.loads(made.stdout)["verdicts"]}
    assert [verdicts[rule] for rule in sorted(INSPECT_RULES)] == ["ok", "ok"]


NO_ANSWER = {
    "check.answers",
    "check.unknown_parameter",
    "check.unknown_algorithm",
    "check.bad_spec",
}


FAULTS: list[tuple[str, str, set[str]]] = [
    ("prints_nothing", "check", {"describe.json"}),
    ("rubbish_on_stdout", "check", {"describe.json"}),
    ("another_shape", "check", {"describe.valid"}),
    ("fails_at_import", "check", {"describe.answers"}),
    ("another_id", "check", {"describe.id"}),
    ("default_of_another_type", "check", {"describe.parameters"}),
    ("default_out_of_bounds", "check", {"describe.parameters"}),
    ("steps_of_nothing", "check", {"describe.fields"}),
    ("accepts_unknown", "check", {"check.unknown_parameter"}),
    ("check_fails", "check", NO_ANSWER),
    ("exits_0_without_events", "train", {"train.events"}),
    ("exits_3_after_done", "train", {"train.ends", "train.truth"}),
    ("crashes", "train", {"train.ends", "train.one_terminal", "train.truth"}),
    ("empty_config", "train", {"train.config_whole"}),
    ("two_terminals", "train", {"train.one_terminal"}),
    ("no_terminal", "train", {"train.one_terminal", "train.truth"}),
    ("event_after_end", "train", {"train.one_terminal"}),
    ("config_later", "train", {"train.config_first"}),
    ("gap", "train", {"train.contiguous"}),
    ("skips_a_step", "train", {"train.steps_in_order"}),
    ("tells_no_prompt", "train", {"train.tells"}),
    ("checkpoint_is_gone", "train", {"train.files", "train.manifest"}),
    ("checkpoint_changes", "train", {"train.files"}),
    ("plays_nothing", "check", {"describe.fields"}),
    ("plays_once", "train", {"play.told"}),
    ("play_fails", "train", {"play.ends"}),
    ("inspects_another", "train", {"inspect.own"}),
    ("takes_anything", "train", {"inspect.foreign"}),
    ("unpickles", "train", {"inspect.foreign"}),
    ("manifest_lies", "train", {"train.manifest"}),
    ("leaves_a_child", "train", {"train.nothing_left"}),
    ("ignores_stop", "stop", {"stop.in_time"}),
    ("crashes", "stop", {"stop.in_time"}),
]
"""Fault of a bad worker, the part of the check that meets it, and the rules that it breaks."""


@pytest.mark.nightly(
    by_day=[
        "prints_nothing-check",
        "another_id-check",
        "crashes-train",
        "gap-train",
        "checkpoint_changes-train",
        "plays_once-train",
        "ignores_stop-stop",
    ]
)
@pytest.mark.parametrize(
    ("fault", "part", "rules"), FAULTS, ids=[f"{fault}-{part}" for fault, part, _ in FAULTS]
)
def test_a_bad_worker_is_caught(tmp_path: Path, fault: str, part: str, rules: set[str]) -> None:
    """Each fault fails its own rule and no other, with what was seen and what to do."""
    made = check(manifest(tmp_path, fault), *QUICK, "--only", part, "--json")
    assert set(failed(made)) == rules
    assert made.returncode == 1


def test_a_worker_that_hangs_at_import_is_given_up(tmp_path: Path) -> None:
    """A `describe` that never answers costs its time limit, and nothing of it is left running."""
    made = check(manifest(tmp_path, "hangs_at_import"), "--answer-timeout", "1.5", "--json")
    caught = failed(made)
    assert set(caught) == {"describe.answers"}
    assert "1.5 s" in caught["describe.answers"]["message"]
    assert not _carriers("hangs_at_import")


def test_a_describe_that_leaves_a_child_is_reported(tmp_path: Path) -> None:
    """A child in a session of its own that holds stdout is named, ended, and not waited for without end."""
    made = check(manifest(tmp_path, "describe_leaves_a_child"), "--answer-timeout", "5", "--json")
    assert "left a process behind" in failed(made)["describe.answers"]["message"]
    assert b"600.25" not in b"".join(_command_lines())


def test_a_training_that_never_ends_is_killed(tmp_path: Path) -> None:
    """A training that ignores everything is ended by force and reported, and nothing of it is left running."""
    quick = [*QUICK, "--train-timeout", "2", "--only", "train"]
    caught = failed(check(manifest(tmp_path, "never_ends"), *quick, "--json"))
    assert {"train.ends", "train.events"} <= set(caught)
    assert not _carriers("never_ends")


def test_words_for_people(tmp_path: Path) -> None:
    """Without --json each rule is a line, and a failed one says what was seen and what to do."""
    made = check(manifest(tmp_path, "accepts_unknown"), *QUICK, "--only", "check")
    assert "failed  check.unknown_parameter: an unknown parameter is refused" in made.stdout
    assert "To do: Compare spec.parameters" in made.stdout
    assert (
        made.stdout.splitlines()[-1]
        == "bad does not keep the contract: 12 ok, 1 failed, 15 not checked"
    )


def test_what_is_not_checked_shares_a_line(tmp_path: Path) -> None:
    """Twenty rules that cannot be checked for one reason are one line."""
    made = check(manifest(tmp_path, "another_shape"), *QUICK)
    assert "skipped describe.id, describe.levels, " in made.stdout
    assert made.stdout.count("there is no description") == 1


@pytest.mark.parametrize("text", [None, "id = [", 'id = "x"\ntitel = "t"\ncommand = ["x"]'])
def test_no_worker_at_all(tmp_path: Path, text: str | None) -> None:
    """A path without a valid manifest is a usage error that names the fault."""
    if text is not None:
        (tmp_path / "worker.toml").write_text(text)
    made = check(tmp_path)
    assert made.returncode == 2
    assert made.stdout == ""
    assert "worker.toml" in made.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """A command that cannot be executed fails one rule, and the rest is said to be not checked."""
    (tmp_path / "worker.toml").write_text(
        'id = "x"\ntitle = "X"\ncommand = ["{here}/absent"]\nhint = "Make it."\n'
    )
    made = check(tmp_path, "--json")
    assert set(failed(made)) == {"manifest.command"}
    answer = json.loads(made.stdout)["verdicts"]
    assert {v["rule"] for v in answer} == set(RULES)
    assert "Make it." in answer[0]["message"]


def _carriers(fault: str) -> list[bytes]:
    """Command lines of living bad workers with this fault."""
    wanted = {str(BAD).encode(), fault.encode()}
    return [line for line in _command_lines() if wanted <= set(line.split(b"\0"))]


def _command_lines() -> list[bytes]:
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                lines.append((entry / "cmdline").read_bytes())
    return lines
