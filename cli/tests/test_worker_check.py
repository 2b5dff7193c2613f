"""`worker-check` runs `check_worker` in its own environment, and returns its answer and exit code."""

import sys
from pathlib import Path

import pytest

from mosaic_cli.main import main
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.interpreter import ISOLATED


def _call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["mosaic", "worker-check", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code if isinstance(end.value.code, int) else 0


def _judge(layout: Layout, code: int) -> None:
    program = layout.venvs / "workerkit/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\nsys.exit({code})\n")
    program.chmod(0o755)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_judges_word_is_the_verbs(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: int
) -> None:
    """What was asked reaches `check_worker`; its stdout and exit code are the verb's."""
    _judge(layout, code)
    asked = ["some path", "--algorithm", "a", "--only", "stop", "--steps", "9", "--json"]
    assert _call(monkeypatch, *asked) == code
    passed_on = [*ISOLATED, "-m", "mosaic_workerkit.check_worker", "some path", "--algorithm", "a"]
    passed_on += ["--only", "stop", "--venvs", str(layout.venvs), "--steps", "9", "--json"]
    assert capfd.readouterr().out == f"{passed_on}\n"


def test_a_missing_judge_says_what_to_do(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the environment of `check_worker` the verb names the command that makes it."""
    assert _call(monkeypatch, "somewhere") == 6
    assert "./mosaic sync workerkit" in capfd.readouterr().err


def test_environments_are_made_first(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The environment of `check_worker` and the one that the manifest names are made before the question."""
    _judge(layout, 0)
    (layout.root / "services/worker_mine").mkdir(parents=True)
    script = layout.root / "mosaic"
    script.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/asked"\n')
    script.chmod(0o755)
    monkeypatch.setenv("MOSAIC_PROGRAM", str(script))
    (tmp_path / "worker.toml").write_text('id = "mine"\nroom = "worker_mine"\n')
    assert _call(monkeypatch, str(tmp_path)) == 0
    assert (layout.root / "asked").read_text() == "sync workerkit worker_mine\n"
