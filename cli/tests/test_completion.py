"""The Tab key, asked as a real bash asks it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway_double import RUN, RUN_ID, Answers, Mosaic

from mosaic_cli.completion import complete_run, complete_search, complete_worker
from mosaic_cli.verbs.completion import SCRIPTS, Shell

# As the shell calls the function: the words so far, and the one that the cursor is in.
ASK = """
source "$PROGRAM.bash"
COMP_WORDS=("$PROGRAM" "$@"); COMP_CWORD=$#
_mosaic "$PROGRAM"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def tab(tmp_path: Path) -> "Tab":
    """A program called as in a checkout."""
    program = tmp_path / "mosaic"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mosaic_cli "$@"\n')
    program.chmod(0o755)
    program.with_suffix(".bash").write_text(SCRIPTS[Shell.BASH])
    return Tab(program)


class Tab:
    """Presses Tab in bash."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def __call__(self, *words: str) -> list[str]:
        environ = {**os.environ, "PROGRAM": str(self._program)}
        command = ["bash", "--norc", "-c", ASK, "bash", *words]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()


def test_verbs_options_and_values_are_completed(tab: Tab, answers: Answers) -> None:
    """A beginning is completed with what may stand there: a verb, one of a group, an option, its values, a run."""
    assert tab("que") == ["queue"]
    assert tab("queue", "") == ["list", "hold", "release", "priority", "move"]
    assert tab("run", "--rec") == ["--record"]
    assert "replay" in tab("run", "--record", "")
    assert tab("replay", "last", "--episode", "") == ["best", "worst", "median", "last"]
    assert tab("show", "") == ["last", RUN_ID]
    assert tab("run", "-f", "spec") == [], "a path is the shell's own to complete"


def test_a_search_is_completed(tab: Tab, answers: Answers) -> None:
    """Keys and values of a search, also where bash takes a word apart at its colon, and within quotes."""
    spec = RUN["spec"] | {"environment": "CartPole-v1", "parameters": {"learning_rate": 0.1}}
    answers["/api/v1/runs"] = {"runs": [RUN | {"spec": spec, "tags": ["two words", "old"]}]}
    assert tab("ps", "sta") == ["state:"]
    assert tab("ps", "lea") == ["lr:"], "the short name of a parameter, as in the window"
    assert tab("ps", "lr", ":", "") == ["0.1"]
    assert tab("ps", "bes") == ["best>"]
    assert tab("ps", "since", ":", "") == ["1h", "1d", "7d", "30d"]
    assert tab("ps", "state", ":", "fa") == ["failed"]
    assert tab("ps", "state:fa") == ["state:failed"]
    assert tab("ps", "-state:fa") == [], "an option is completed"
    assert tab("ps", "env", ":", "") == ["CartPole-v1"]
    assert tab("ps", "tag", ":") == ['"two', 'words"', "old"]
    assert complete_search([], "best>1 -tag:ol") == ["best>1 -tag:old"]


def test_without_a_stack_nothing_is_said(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key press shows no error and no traceback; `last` is a run's name in any case."""
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    assert tab("show", "") == ["last"]
    assert complete_run("l") == ["last"]


def test_workers_are_those_whose_manifests_lie_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of the checkout and of the data root are offered; a manifest that cannot be read is left out."""
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    monkeypatch.setenv("MOSAIC_ROOT", str(tmp_path))
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    for name, text in (
        ("services/worker_one/worker.toml", 'id = "one"'),
        ("home/workers.d/two.toml", 'id = "two"'),
        ("home/workers.d/bad.toml", "id = "),
        ("home/workers.d/evil.toml", 'id = "t\\u001b[31m"'),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert complete_worker("") == ["one", "two"]
    assert complete_worker("t") == ["two"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_function(mosaic: Mosaic, shell: str) -> None:
    """It goes to stdout alone, to be sourced."""
    code, out, err = mosaic("completion", shell)
    assert (code, "_MOSAIC_COMPLETE" in out, err) == (0, True, "")
